"""How a program ended, from what `sleuth run` wrote down; the crashes themselves are in tests/integration."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.unit import little_run

from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.core.layout import thread_slots
from tensorsleuth.diagnose.exits.allocation import requested_tensor
from tensorsleuth.diagnose.health_words import format_bytes
from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal.verdict import verdict

GB = 1 << 30
MACHINE: dict[str, Any] = {"kills": 0, "full": 0, "limit": None, "machine": 16 * GB, "peak": GB, "logged": None}
CRASH = """Fatal Python error: Aborted

Current thread 0x01 (most recent call first):
  File "{file}", line 8 in inner
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return little_run.write(tmp_path / "run", tmp_path / "train.py", closed=False)


def ended(run: Path, facts: dict[str, Any] | None, hang: dict[str, Any] | None = None) -> Diagnosis:
    meta = json.loads((run / run_folder.META_FILE).read_text()) | {"ended": facts}
    (run / run_folder.META_FILE).write_text(json.dumps(meta))
    if hang is not None:
        (run / run_folder.HANG_FILE).write_text(json.dumps(hang))
    return diagnose(Trace(run))


def killed(signal: str, **memory: Any) -> dict[str, Any]:
    return {"time": 1.0, "exit": None, "signal": signal, "memory": MACHINE | memory, "said": []}


def write_slot(run: Path, op: int, depth: int = 1) -> None:
    """The main thread has begun an op at the time of the last row."""
    (folder,) = run.glob("p-*")
    slots = np.zeros(1, thread_slots.SLOT)
    slots["id"], slots["thread"], slots["depth"] = 77, 1, depth
    slots["begun"]["time"][0, 0], slots["begun"]["op"][0, 0], slots["begun"]["step"][0, 0] = 10_000, op, 3
    head = thread_slots.HEADER.pack(thread_slots.MAGIC, 1, 1, thread_slots.SLOT.itemsize, 77)
    (folder / thread_slots.THREADS_FILE).write_bytes(head.ljust(thread_slots.SLOTS_OFFSET, b"\0") + slots.tobytes())


@pytest.mark.parametrize(
    ("facts", "cause", "words"),
    [
        (killed("SIGKILL", kills=1, limit=GB), "killed-out-of-memory", "The container's limit is 1.1 GB (1 GiB)"),
        (killed("SIGKILL", kills=1), "killed-out-of-memory", "The machine has 17 GB, of which this program had 1.1 GB"),
        (killed("SIGKILL", kills=None, full=3, limit=GB), "killed-out-of-memory", "Killed: out of memory. "),
        (killed("SIGKILL", kills=None, peak=15 * GB), "killed-out-of-memory", "very likely"),
        (killed("SIGKILL", kills=None), "killed", "from outside"),
        (killed("SIGKILL"), "killed", "not by the OOM killer"),
        (killed("SIGSEGV"), "segfault", "segmentation fault"),
        (killed("SIGBUS"), "bus-error", "SIGBUS"),
        (killed("SIGFPE"), "arithmetic-fault", "SIGFPE"),
        (killed("SIGILL"), "illegal-instruction", "SIGILL"),
        (killed("SIGABRT"), "aborted", "its last message is on stderr"),
        (killed("SIGABRT") | {"said": ["x.cc:1: F y.cc:2] Check failed: a == b"]}, "aborted", "Check failed: a == b"),
        (killed("SIGABRT") | {"said": ["  what():  std::bad_alloc"]}, "aborted-out-of-memory", "std::bad_alloc"),
        (None, "cut-short", "ended without a message"),
    ],
)  # fmt: skip
def test_cause_of_an_end(run: Path, facts: dict[str, Any] | None, cause: str, words: str) -> None:
    found = ended(run, facts)
    told = {finding.cause: finding for finding in found}
    assert words in told[cause].summary
    assert found.end is not None and found.end.kind == cause
    assert set(told) == {cause, "cross-entropy-by-hand"}, "what else was found stays"
    first = "cross-entropy-by-hand" if cause in ("killed", "cut-short") else cause
    assert found.findings[0].cause == first, "somebody may have killed it for that"


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (killed("SIGTERM"), "stopped"),
        (killed("SIGINT"), "stopped"),
        ({"time": 1.0, "exit": 3, "signal": None}, "exit"),
        ({"time": 1.0, "exit": 0, "signal": None}, "finished"),
    ],
)
def test_end_that_somebody_wanted_is_no_problem(run: Path, facts: dict[str, Any], kind: str) -> None:
    found = ended(run, facts)
    assert found.end is not None and found.end.kind == kind
    assert found.findings[0].cause == "cross-entropy-by-hand"


def test_hang_is_told_where_it_was_stopped(run: Path) -> None:
    stopped = killed("SIGINT") | {"time": 100.0}
    found = ended(run, stopped, {"time": 50.0, "quiet": 40.0, "busy": 0.0, "pid": 77})
    assert found.findings[0].cause == "hang"
    assert "It waited (0% of a core)" in found.findings[0].summary
    assert "until SIGINT ended it" in found.findings[0].summary


def test_hang_that_went_on_is_forgotten(run: Path) -> None:
    found = ended(run, killed("SIGINT"), {"time": 0.0, "quiet": 40.0, "busy": 0.0, "pid": 77})
    assert found.end is not None and found.end.kind == "stopped"


def test_op_that_was_begun_is_named_with_its_line(run: Path) -> None:
    ops = Trace(run).processes[0].catalogue.eager
    number = next(iter(ops))
    write_slot(run, number)
    found = ended(run, killed("SIGKILL", kills=1, limit=GB))
    assert found.end is not None
    (main,) = found.end.doing
    assert (main.thread, main.ended, main.line) == ("main thread", False, found.findings[0].line)
    assert found.end.step == 3
    write_slot(run, number, depth=0)
    again = diagnose(Trace(run)).end
    assert again is not None and again.doing[0].ended, "it had come back"


def test_line_of_the_thread_that_crashed(run: Path, tmp_path: Path) -> None:
    (run / run_folder.FAULTS_FOLDER).mkdir()
    (run / run_folder.FAULTS_FOLDER / "77").write_text(CRASH.format(file=tmp_path / "train.py"))
    finding = ended(run, killed("SIGABRT")).findings[0]
    assert (finding.line, finding.function, finding.code) == (8, "inner", "likely = tf.math.log(scores)")


@pytest.mark.parametrize("name", [thread_slots.THREADS_FILE])
@pytest.mark.parametrize("data", [b"", b"SLEUTHTH", b"\xff" * 8192])
def test_slots_that_make_no_sense_are_left_out(run: Path, name: str, data: bytes) -> None:
    (folder,) = run.glob("p-*")
    (folder / name).write_bytes(data)
    found = ended(run, killed("SIGKILL"))
    assert found.findings[1].cause == "killed"
    assert found.trouble == ()


@pytest.mark.parametrize("width", [80, 120])
def test_what_a_person_reads_fits_the_terminal(run: Path, width: int) -> None:
    write_slot(run, next(iter(Trace(run).processes[0].catalogue.eager)))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(verdict(ended(run, killed("SIGKILL", kills=1, limit=GB))))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "Threads    main thread: train.py:" in text
    assert "the container's limit is" in text


def test_what_was_to_be_made() -> None:
    message = "OOM when allocating tensor with shape[8192,8192] and type float on /job:localhost"
    assert requested_tensor(message) == "float32 [8192, 8192] (268 MB)"
    numpy = "Unable to allocate 8.00 TiB for an array with shape (3, 5) and data type float64"
    assert requested_tensor(numpy) == "float64 [3, 5] (120 B)"
    assert requested_tensor("something else") is None
    assert [format_bytes(size) for size in (0, 999, 268_000_000, 512 << 20)] == ["0 B", "999 B", "268 MB", "537 MB"]
