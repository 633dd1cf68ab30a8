"""The value of a tensor: a slice of it, in pages, with a heat map and a histogram."""

from __future__ import annotations

import math
from typing import Any

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.values import take_slice
from tensorsleuth.ui.web.answers.value.heat_map import heat_map, histogram
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.errors import BadRequest, NotFound
from tensorsleuth.ui.web.run.events import event_at
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

MAX_VALUES = 10_000  # in an answer
_MAX_EXACT_INTEGER = 1 << 53


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Value (web/src/api/types.ts)."""
    event = event_at(opened, opened.table.place(asked.get("id", "")))
    whole = event.value
    if whole is None:
        raise NotFound("The value of this tensor was not kept.", "Record it: sleuth run --mode FULL_TENSOR program.py")
    text = parameters.text(asked, "slice") or ""
    part = _slice(whole, text)
    begin, end = parameters.page(asked, part.size, MAX_VALUES)
    items, texts = _plain(part.reshape(-1)[begin:end])
    return {
        "shape": list(part.shape),
        "of": list(whole.shape),
        "dtype": event.dtype,
        "slice": text,
        "begin": begin,
        "end": end,
        "total": part.size,
        "items": items,
        "texts": {begin + at: said for at, said in texts.items()},
        "heat": heat_map(part) if part.ndim == 2 else None,
        "histogram": histogram(part),
    }


def _slice(value: Array, text: str) -> Array:
    try:
        return take_slice(value, text)
    except SleuthError as error:
        raise BadRequest(str(error)) from error


def _plain(values: Array) -> tuple[list[Any], dict[int, str]]:
    """Return values as JSON can hold them, and NaN or infinite ones as words."""
    items: list[Any] = []
    texts: dict[int, str] = {}
    for at, value in enumerate(values.tolist()):
        said = _as_text(value)
        items.append(value if said is None else None)
        if said is not None:
            texts[at] = said
    return items, texts


def _as_text(value: Any) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, bool | str):
        return None
    return None if isinstance(value, int) and abs(value) <= _MAX_EXACT_INTEGER else str(value)
