"""The place of a finding: the program's own lines, as they were when it ran, and the batch of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.fit_position import FitPosition
from tensorsleuth.diagnose.needs import Need, recorded_parts
from tensorsleuth.trace.process.process import ProcessTrace

CONTEXT_LINES = 2  # lines of source shown before and after


class SourceFields(TypedDict):
    """The fields of a finding that its line of the program fills."""

    file: str | None
    line: int | None
    function: str | None
    code: str | None
    source: tuple[tuple[int, str], ...]
    layer: str | None
    columns: tuple[int, int] | None
    shown_at: OtherLine | None


def source_fields(process: ProcessTrace, frame: Frame | None) -> SourceFields:
    """Return what a finding says of its line. Without a frame nothing is known."""
    return {
        "layer": frame.layer if frame is not None else None,
        "columns": _columns(process, frame),
        "shown_at": _other_line(process, frame.shown_at if frame is not None else None),
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


def fit_position(process: ProcessTrace, call: int) -> dict[str, Any]:
    """Return the position in a Keras loop at which a call was made, as fields of a finding."""
    batch = batch_of_call(process, call)
    if batch is None:
        return {}
    return {"phase": batch.phase.name.lower(), "epoch": batch.epoch, "batch": batch.batch}


def batch_of_call(process: ProcessTrace, call: int) -> FitPosition | None:
    return process.batches.of_call(call) if Need.KERAS_BATCHES in process.cached(recorded_parts) else None
