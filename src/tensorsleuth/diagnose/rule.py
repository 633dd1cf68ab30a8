"""A finding that needs no bad value: what was seen, where, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Evidence, Finding
from tensorsleuth.diagnose.source_lines import code_at, lines_around
from tensorsleuth.trace.process.process import ProcessTrace


@dataclass(frozen=True)
class Habit:
    """What the program does, and what comes of it."""

    cause: str
    confidence: float
    why: str  # continues "<line> …"
    fix: str
    frame: Frame | None
    op: str
    harm: float = 0.0  # bytes a step
    is_note: bool = False  # advice: the run is no less healthy for it
    step: int | None = None  # since when
    evidence: tuple[Evidence, ...] = ()
    is_wrong: bool = False  # results are, which is worse than any memory
    about: tuple[str, ...] = ()  # of attention: the ops that put out the weights it is about


def once_a_line(found: Iterable[Habit]) -> Iterator[Habit]:
    """The first of those that say the same of one line; it is about all of them."""
    kept: dict[tuple[str, Frame | None], Habit] = {}
    for habit in found:
        first = kept.setdefault((habit.cause, habit.frame), habit)
        if first is not habit:
            kept[habit.cause, habit.frame] = replace(first, about=(*first.about, *habit.about))
    yield from kept.values()


class Finder(Protocol):
    """A file that `rules` finds."""

    def find(self, process: ProcessTrace) -> Iterator[Habit]: ...


def is_told(process: ProcessTrace, others: Iterable[Finder]) -> bool:
    """Does another habit say the same already, and say more: one finding a cause."""
    return any(True for other in others for _ in other.find(process))


def as_finding(process: ProcessTrace, habit: Habit) -> Finding:
    """In the words of `sleuth why`."""
    frame = habit.frame
    where = f"{frame.file}:{frame.line}" if frame is not None else "A line that is not known"
    return Finding(
        cause=habit.cause,
        confidence=habit.confidence,
        severity="note" if habit.is_note else "error",
        summary=f"{where} {habit.why}.",
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        function=frame.function if frame else None,
        code=code_at(process, frame),
        op=habit.op,
        name=habit.op,
        step=habit.step,
        iteration=None,
        fix=habit.fix,
        evidence=habit.evidence,
        source=tuple(lines_around(process, frame)),
    )


def piece(role: str, what: str, said: str, frame: Frame | None = None) -> Evidence:
    """Evidence that is no single tensor: it has no dtype and no shape, and what is said of it is its health."""
    line = f"{frame.file}:{frame.line}" if frame is not None else None
    return Evidence(role, what, what, "", None, said, line)
