"""The program's own lines, as they were when it ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from tensorsleuth.core.catalog import Frame
from tensorsleuth.trace.process.process import ProcessTrace

CONTEXT_LINES = 2  # lines of source shown before and after


class SourceFields(TypedDict):
    """The fields of a finding that its line of the program fills."""

    file: str | None
    line: int | None
    function: str | None
    code: str | None
    source: tuple[tuple[int, str], ...]


def source_fields(process: ProcessTrace, frame: Frame | None) -> SourceFields:
    """Return what a finding says of its line. Without a frame nothing is known."""
    return {
        "file": frame.file if frame is not None else None,
        "line": frame.line if frame is not None else None,
        "function": frame.function if frame is not None else None,
        "code": code_at(process, frame),
        "source": tuple(lines_around(process, frame)),
    }


def code_at(process: ProcessTrace, frame: Frame | None) -> str | None:
    """Return the line, without its indent."""
    for number, text in lines_around(process, frame):
        if frame is not None and number == frame.line:
            return text.strip()
    return None


def lines_around(process: ProcessTrace, frame: Frame | None) -> Iterator[tuple[int, str]]:
    """Yield the line and those around it, with their numbers."""
    text = process.catalogue.sources.get(frame.file) if frame is not None else None
    if text is None or frame is None:
        return
    lines = text.splitlines()
    for number in range(max(1, frame.line - CONTEXT_LINES), min(len(lines), frame.line + CONTEXT_LINES) + 1):
        yield number, lines[number - 1]
