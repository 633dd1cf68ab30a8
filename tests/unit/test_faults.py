"""What faulthandler wrote is read back: lines of the program, the thread that crashed first."""

from __future__ import annotations

import faulthandler
import tempfile
import threading

from tensorsleuth.trace.storage.fault_dumps import read_stacks

CRASH = """Fatal Python error: Segmentation fault

Thread 0x00007f6875a6db80 (most recent call first):
  File "/site/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "/site/train.py", line 13 in <module>

Current thread 0x00007f682d3fc6c0 (most recent call first):
  File "/site/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/site/src/tensorsleuth/recording/eager/callbacks.py", line 1 in ours
  File "/site/train.py", line 5 in crash
  File "/site/lib/python3.11/site-packages/tensorflow/python/ops/script_ops.py", line 152 in _call

Extension modules: numpy (total: 1)
"""


def test_crashed_thread_comes_first() -> None:
    stacks, said = read_stacks(CRASH)
    assert said == "Segmentation fault"
    assert [stack.current for stack in stacks] == [True, False]
    assert [(one.frame.line, one.frame.function) for one in stacks if one.frame] == [(5, "crash"), (13, "<module>")]
    assert [frame.function for frame in stacks[0].frames] == ["string_at", "crash", "_call"]
    assert stacks[0].called_by_tensorflow and not stacks[1].called_by_tensorflow


def test_last_of_several_dumps() -> None:
    text = CRASH.partition("\n\n")[2]
    stacks, said = read_stacks(text + text.replace("crash", "again"))
    assert said is None
    assert [stack.frame.function for stack in stacks if stack.frame] == ["again", "<module>"]


def test_what_python_itself_writes() -> None:
    wait = threading.Event()
    thread = threading.Thread(target=wait.wait)
    thread.start()
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        stacks, _ = read_stacks(file.read())
    wait.set()
    thread.join()
    assert stacks[0].current
    assert stacks[0].frames[0].function == "test_what_python_itself_writes"
    assert len(stacks) >= 2


def test_nonsense() -> None:
    assert read_stacks("") == ([], None)
    assert read_stacks("Current thread\n  File\n") == ([], None)
