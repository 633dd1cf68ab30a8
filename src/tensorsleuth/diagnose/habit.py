"""A finding that needs no bad value: what was seen, where, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.model.catalog import Frame
from tensorsleuth.model.finding import Evidence, Finding
from tensorsleuth.trace.process import ProcessTrace

AROUND = 2  # lines of source shown before and after


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


def as_finding(process: ProcessTrace, habit: Habit) -> Finding:
    """In the words of `sleuth why`."""
    frame = habit.frame
    where = f"{frame.file}:{frame.line}" if frame is not None else "A line that is not known"
    source = tuple(_around(process, frame))
    return Finding(
        cause=habit.cause,
        confidence=habit.confidence,
        severity="note" if habit.is_note else "error",
        summary=f"{where} {habit.why}.",
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        function=frame.function if frame else None,
        code=next((text.strip() for number, text in source if frame and number == frame.line), None),
        op=habit.op,
        name=habit.op,
        step=habit.step,
        iteration=None,
        fix=habit.fix,
        evidence=habit.evidence,
        source=source,
    )


def piece(role: str, what: str, said: str, frame: Frame | None = None) -> Evidence:
    """Evidence that is no single tensor."""
    line = f"{frame.file}:{frame.line}" if frame is not None else None
    return Evidence(role, what, what, said, None, "", line)


def _around(process: ProcessTrace, frame: Frame | None) -> Iterator[tuple[int, str]]:
    text = process.catalogue.sources.get(frame.file) if frame is not None else None
    if text is None or frame is None:
        return
    lines = text.splitlines()
    for number in range(max(1, frame.line - AROUND), min(len(lines), frame.line + AROUND) + 1):
        yield number, lines[number - 1]
