"""Doubts about a run in which nothing was found: with one it is unclear, without any it is healthy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence, Set

from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.finding import Doubt, Finding
from tensorsleuth.core.formatting import plural
from tensorsleuth.diagnose.nan.unexplained_reads import unexplained_reads
from tensorsleuth.diagnose.training.undecided_loss import undecided_training
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.reader import Trace

LENGTH_FLAG = re.compile(r"--?[\w-]*(?:epoch|step|iter|episode)\w*[ =]\d+")


def find_doubts(
    trace: Trace, blind: str | None, trouble: Sequence[str], notes: Sequence[Finding] = ()
) -> tuple[Doubt, ...]:
    """Return what would be needed to call a run healthy; of several, the weightiest first."""
    return tuple(_doubts(trace, blind, trouble, {one.cause for one in notes}))


def _doubts(trace: Trace, blind: str | None, trouble: Sequence[str], noted: Set[str]) -> Iterator[Doubt]:
    again = _run_command(trace)
    if blind:
        yield Doubt(f"mode {blind} records no values, so no NaN and no ∞ could be seen", again)
        return
    for line in trouble[:1]:
        yield Doubt(f"part of the recording cannot be read: {line}", again)
    for process in trace.processes:
        for read in unexplained_reads(process):
            yield Doubt(read, f"sleuth debug {shlex.quote(str(trace.path))}")
        yield from _missing_rows(trace, process)
        undecided = undecided_training(process, noted)
        if undecided is not None:
            yield Doubt(f"{undecided}. Raise the number of its epochs or steps{_length_flag(trace)}, and run it again")
    for entry in trace.not_covered:
        if entry.get("unseen"):
            yield Doubt(f"{entry['what']} could not be watched ({first_line(str(entry['why']))})", "sleuth doctor")


def _missing_rows(trace: Trace, process: ProcessTrace) -> Iterator[Doubt]:
    """A bad value was recorded, and its row is no longer there."""
    if process.has_bad and process.lost_events and next(process.bad_rows(), None) is None:
        lost = plural(process.lost_events, "row")
        yield Doubt(
            f"a NaN or ∞ was recorded and overwritten later, with {lost} of a circular buffer",
            _run_command(trace, "--circular-buffer-size 0 "),
        )


def _length_flag(trace: Trace) -> str:
    """Return the arguments of the program that seem to say how long it trains: ` (--steps 50)`."""
    words = " ".join(str(word) for word in trace.meta.get("program", []) if isinstance(word, str))
    found = LENGTH_FLAG.search(words)
    return f" ({found.group()})" if found is not None else ""


def _run_command(trace: Trace, options: str = "") -> str:
    """`sleuth run train.py`"""
    program = [str(word) for word in trace.meta.get("program", []) if isinstance(word, str)]
    return f"sleuth run {options}{shlex.join(program) or 'train.py'}"
