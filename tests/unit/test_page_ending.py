"""The end of a program as the page is told it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit import little_run
from tests.unit.page_client import ask
from tests.unit.test_memory_cli import MB, with_memory

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.run_end import LiveTensor, MemoryAtEnd, RunEnd, RunningOp, ThreadStack
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.answers.verdict.ending import MAX_FRAMES, MAX_THREADS, end_json
from tensorsleuth.ui.web.run.open_run import OpenRun


def ended(tmp_path: Path, how: dict[str, Any] | None) -> OpenRun:
    run = little_run.write(tmp_path / "run", tmp_path / "train.py", closed=False)
    meta = json.loads((run / run_folder.META_FILE).read_text())
    (run / run_folder.META_FILE).write_text(json.dumps(meta | {"ended": how}))
    return OpenRun(with_memory(run, [500 * MB, 700 * MB]))


def test_a_program_that_was_killed(tmp_path: Path) -> None:
    told = ask(ended(tmp_path, {"time": 1.7e9 + 2.5, "exit": None, "signal": "SIGKILL"}), "verdict")
    assert (told["end"]["kind"], told["end"]["signal"]) == ("killed", "SIGKILL")
    assert told["end"]["kind"] in [finding["cause"] for finding in told["findings"]]
    assert [size for _, size in told["end"]["memory"]["curve"]] == [500 * MB, 700 * MB]


def test_a_program_that_finished(tmp_path: Path) -> None:
    told = ask(ended(tmp_path, {"time": 1.7e9 + 2.5, "exit": 0, "signal": None}), "verdict")
    assert told["end"]["kind"] == "finished"


def test_threads_and_lines_have_places_and_bounds(tmp_path: Path) -> None:
    opened = ended(tmp_path, None)
    program = str(tmp_path / "train.py")
    inner = RunningOp("main thread", "Log", "Log", program, 8, "train_step", None, makes="float32 [2]", bytes=8)
    doing = RunningOp("main thread", "train_step", "train_step", program, 11, None, None, seconds=0.3, inside=(inner,))
    stack = ThreadStack(True, tuple(Frame("/lib/a.py", n, "f") for n in range(99)), -1)
    held = LiveTensor("x", "float32", (2,), 8, f"{program}:7", 1.5, 0, 3)
    memory = MemoryAtEnd(1, 2, None, 4, ((2.0, 1), (0.5, 2)), (held,), (LiveTensor("y", "int64", None, 8, None),))
    end = RunEnd("segfault", "", None, "SIGSEGV", 0, "step 0", 0.1, (doing,) * 30, (stack,), memory, ("bye",))
    told = end_json(opened, end)
    assert told is not None and json.dumps(told)
    assert (len(told["doing"]), told["moreThreads"]) == (MAX_THREADS, 30 - MAX_THREADS)
    assert told["doing"][0]["inside"][0]["place"]["code"] == "likely = tf.math.log(scores)"
    assert len(told["stacks"][0]["frames"]) == MAX_FRAMES and not told["stacks"][0]["frames"][0]["user"]
    assert told["memory"]["curve"] == [[-2.0, 1], [-0.5, 2]]
    assert told["memory"]["largest"][0]["place"]["line"] == 7
    assert told["memory"]["oldest"][0]["place"] is None
    assert end_json(opened, None) is None


def test_a_hang_that_is_noted_while_the_page_is_open_is_asked_for(tmp_path: Path) -> None:
    opened = ended(tmp_path, None)
    before = opened.diagnosis
    assert opened.diagnosis is before
    (opened.path / run_folder.HANG_FILE).write_text(json.dumps({"time": 1.7e9 + 60.0, "busy": 0.0}))
    assert opened.diagnosis is not before
