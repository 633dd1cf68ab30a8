"""Signals under `sleuth run`: each reaches the program once, as without it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest
from tests.integration import started
from tests.integration.started import RUN, bare, meta, sleuth, write

place = started.place  # a fixture


HANDLER = """
import signal, sys, time
def handler(number, frame):
    print("got", number, flush=True)
    sys.exit(7)
signal.signal({number}, handler)
print("ready", flush=True)
time.sleep(240)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGINT"])
def test_a_signal_to_us_reaches_the_program(place: Path, name: str) -> None:
    number = int(signal.Signals[name])
    write(place / "prog.py", HANDLER.format(number=number))
    process = subprocess.Popen([*RUN, "prog.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.communicate(timeout=240)[0] == f"got {number}\n"
    assert process.returncode == 7


def test_program_killed_from_outside(place: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(240)"
    process = subprocess.Popen([*RUN, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    assert meta()["pid"] == pid
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL


def test_what_was_ignored_stays_ignored(place: Path) -> None:
    def ignore() -> None:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    code = "from signal import *; print([getsignal(n).name for n in (SIGHUP, SIGINT, SIGTERM)])"
    assert sleuth("-c", code, preexec_fn=ignore).stdout == "['SIG_IGN', 'SIG_IGN', 'SIG_DFL']\n"


def test_signal_mask_is_the_usual_one(place: Path) -> None:
    code = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    assert sleuth("-c", code).stdout == bare("-c", code).stdout == "set()\n"


# Signals are answered lowest number first: once SIGTERM (15) came through, a SIGINT (2) would have come too.
COUNT_INTERRUPTS = """
import os, signal, subprocess, sys, time
got = []
def note(number, frame):
    got.append(signal.Signals(number).name)
    print(got, flush=True)
signal.signal(signal.SIGINT, note)
signal.signal(signal.SIGTERM, note)
if "group" in sys.argv:
    os.killpg(0, signal.SIGINT)
    subprocess.run(["kill", "-TERM", str(os.getppid())], check=True)
sys.stdout.write("ready\\n")  # in one piece, also when a signal comes in between
sys.stdout.flush()
while "SIGTERM" not in got:
    time.sleep(0.01)
"""


def test_what_the_program_sends_to_its_group_does_not_come_back(place: Path) -> None:
    done = sleuth("-c", COUNT_INTERRUPTS, "group", start_new_session=True)
    assert done.stdout.replace("ready\n", "") == "['SIGINT']\n['SIGINT', 'SIGTERM']\n"


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # pty.fork, and exec at once
def test_ctrl_c_on_the_terminal_arrives_once(place: Path) -> None:
    write(place / "prog.py", COUNT_INTERRUPTS)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(RUN[0], [*RUN, "prog.py"])
    read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    read_until(terminal, b"['SIGINT']")
    os.kill(pid, signal.SIGTERM)
    assert b"['SIGINT', 'SIGTERM']" in read_until(terminal, b"finished (exit 0)")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


def read_until(terminal: int, mark: bytes) -> bytes:
    seen = b""
    while mark not in seen:
        seen += os.read(terminal, 4096)
    return seen


def test_the_process_group_is_shared(place: Path) -> None:
    code = "import os; print(os.getpgid(0) == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()))"
    assert sleuth("-c", code).stdout == "True True\n"
