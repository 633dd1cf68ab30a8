"""The place of a finding: the program's own lines, as they were when it ran, and the batch of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np

from tensorsleuth.core.catalog import Frame, Span
from tensorsleuth.core.finding import OtherLine
from tensorsleuth.core.fit_position import FitPosition
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.needs import Need, recorded_parts
from tensorsleuth.trace.dataflow.variables import ASSIGNMENT
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


def assigned_name(process: ProcessTrace, frame: Frame | None) -> str | None:
    """Return the name that a line assigns: `labels` of `labels = load()`."""
    found = ASSIGNMENT.match(code_at(process, frame) or "")
    return found[1] if found is not None else None


def lines_around(process: ProcessTrace, frame: Frame | None) -> Iterator[tuple[int, str]]:
    """Yield the line and those around it, with their numbers."""
    text = process.catalogue.sources.get(frame.file) if frame is not None else None
    if text is None or frame is None:
        return
    lines = text.splitlines()
    for number in range(max(1, frame.line - CONTEXT_LINES), min(len(lines), frame.line + CONTEXT_LINES) + 1):
        yield number, lines[number - 1]


def _other_line(process: ProcessTrace, frame: Frame | None) -> OtherLine | None:
    return OtherLine(frame.file, frame.line, frame.function, code_at(process, frame)) if frame is not None else None


def _columns(process: ProcessTrace, frame: Frame | None) -> tuple[int, int] | None:
    """Return where the expression of a frame begins and ends in its line, in letters; the line's end if it goes on."""
    span = frame.span if frame is not None else None
    text = dict(lines_around(process, frame)).get(span.line) if span is not None else None
    if span is None or frame is None or text is None or span.line != frame.line:
        return None
    begin, end = _letters(text, span)
    return (begin, end) if 0 <= begin < end else None


def _letters(text: str, span: Span) -> tuple[int, int]:
    code = text.encode()
    begin = len(code[: max(span.column, 0)].decode(errors="ignore"))
    end = len(code[: max(span.end_column, 0)].decode(errors="ignore"))
    return begin, end if span.end_line == span.line else len(text.rstrip())


def fit_position(process: ProcessTrace, call: int) -> dict[str, Any]:
    """Return the position in a Keras loop at which a call was made, as fields of a finding."""
    batch = batch_of_call(process, call)
    if batch is None:
        return {}
    return {"phase": batch.phase.name.lower(), "epoch": batch.epoch, "batch": batch.batch}


def position_of_step(process: ProcessTrace, step: int | None) -> dict[str, Any]:
    """Return the position in a Keras loop of a training step: that of its first call of a function."""
    if step is None or step < 0 or Need.KERAS_BATCHES not in process.cached(recorded_parts):
        return {}
    calls = process.calls
    mine = calls["call"][(calls["kind"] == CallKind.FUNCTION) & (calls["step"] == np.int64(step))]
    return fit_position(process, int(mine.min())) if len(mine) else {}


def batch_of_call(process: ProcessTrace, call: int) -> FitPosition | None:
    return process.batches.of_call(call) if Need.KERAS_BATCHES in process.cached(recorded_parts) else None
