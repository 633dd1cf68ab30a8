"""The health of the tensors that each line of a file computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.debugger.tensor_description import tensor_health as in_words
from tensorsleuth.ui.web.run.columns import column_values
from tensorsleuth.ui.web.run.events import event_at
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.tensor_table import TensorTable


def margins(opened: OpenRun, path: str, step: int | None) -> dict[int, dict[str, Any]]:
    """Return a Margin (web/src/api/types.ts) for each line, of one step (-1: outside of steps) or of the whole run."""
    table = opened.table
    lines = sorted({op.line for op in table.ops if op.file == path and op.line is not None})
    numbers = {line: number for number, line in enumerate(lines)}
    of_op = np.array([*(numbers.get(op.line or 0, -1) if op.file == path else -1 for op in table.ops), -1], np.int32)
    which = of_op[table.op]
    places = np.flatnonzero((which >= 0) & (table.kind > 0) & (table.step == step if step is not None else True))
    which = which[places]
    counts = np.bincount(which, minlength=len(lines))
    firsts = _firsts(places, which, len(lines))
    bad = np.flatnonzero(table.flags[places] & EventFlag.BAD)
    worse, first_bad = np.bincount(which[bad], minlength=len(lines)), _firsts(places[bad], which[bad], len(lines))
    words = _words(opened, places, which, first_bad)
    columns = zip(lines, counts.tolist(), worse.tolist(), first_bad.tolist(), firsts.tolist(), words)
    return {line: _margin(table, count, *rest) for line, count, *rest in columns if count}


def _margin(tensor_table: TensorTable, count: int, bad: int, first_bad: int, first: int, words: str) -> dict[str, Any]:
    worst = tensor_table.id(first_bad) if first_bad >= 0 else None
    return {"tensors": count, "bad": bad, "firstBad": worst, "first": tensor_table.id(first), "words": words}


def _firsts(places: Array, which: Array, size: int) -> Array:
    """Return the first tensor of each line, -1 if it has none."""
    firsts = np.full(size, -1, np.int64)
    firsts[which[::-1]] = places[::-1]
    return firsts


def _words(opened: OpenRun, places: Array, which: Array, first_bad: Array) -> list[str]:
    """Return the first bad tensor of a line, else the range of all its tensors."""
    lows, highs = np.full(len(first_bad), np.nan), np.full(len(first_bad), np.nan)
    np.fmin.at(lows, which, column_values(opened.table, "min", places))
    np.fmax.at(highs, which, column_values(opened.table, "max", places))
    looked = np.zeros(len(first_bad), bool)
    looked[which[opened.table.flags[places] & EventFlag.LOOKED != 0]] = True
    rows = zip(first_bad.tolist(), lows.tolist(), highs.tolist(), looked.tolist())
    return [in_words(event_at(opened, bad)) if bad >= 0 else _range(*rest) for bad, *rest in rows]


def _range(low: float, high: float, looked: bool) -> str:
    if low <= high:
        return f"range {low:.4g} … {high:.4g}"
    return "finite" if looked else "not recorded"
