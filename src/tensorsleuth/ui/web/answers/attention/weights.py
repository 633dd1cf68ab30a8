"""The weights of an attention at one look: small pictures of all heads, and one of them whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.attention.batch import Batch
from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.attention import Attention, Kept
from tensorsleuth.ui.web.answers.attention import packed
from tensorsleuth.ui.web.answers.attention.axes import axes
from tensorsleuth.ui.web.answers.attention.stats import seen, series_of
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.errors import NoSuchThing
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

THUMB = 32  # cells a side of a small picture
CELLS = 256


def answer_thumbs(opened: OpenRun, asked: Parameters) -> Answer:
    """The Thumbs of inside.ts."""
    _, kept, _ = _look(opened, asked)
    sample = parameters.whole(asked, "sample", 0, 0, max(len(kept.weights) - 1, 0))
    pictures = [packed.smaller(head, THUMB) for head in kept.weights[sample]] if len(kept.weights) else []
    rows, columns = pictures[0].shape if pictures else (0, 0)
    return {"rows": rows, "columns": columns, "heads": [packed.shades(head) for head in pictures]}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """The Weights of inside.ts."""
    one, kept, look = _look(opened, asked)
    samples, heads = kept.weights.shape[:2]
    if not samples or not heads:
        raise NoSuchThing("No weights of this attention were kept.", "Its numbers are in the charts.")
    sample = parameters.whole(asked, "sample", 0, 0, samples - 1)
    head = parameters.whole(asked, "head", 0, 0, heads - 1)
    cells = packed.smaller(kept.weights[sample, head], CELLS)
    return {
        "step": max(int(one.steps[look]), 0),
        "sample": sample,
        "head": head,
        **_sizes(kept, cells),
        "cells": packed.floats(cells),
        "numbers": {name: _number(column, head) for name, column in kept.statistics.items()},
        **_axes(opened, int(one.steps[look]), sample, kept),
    }


def _look(opened: OpenRun, asked: Parameters) -> tuple[Attention, Kept, int]:
    """The look at the step that is asked for, or the last one before it; else the latest that was kept."""
    one = Attention(series_of(opened, asked.get("attention", ""), "attention"))
    step = parameters.whole_or_none(asked, "step")
    until = len(one) if step is None else max(int(np.searchsorted(one.steps, step, "right")), 1)
    for look in range(until - 1, -1, -1):
        kept = one.kept(look)
        if kept is not None:
            return one, kept, look
        if step is not None:
            break
    raise NoSuchThing("The weights of this step were replaced by later ones.", "Choose a later step.")


def _sizes(kept: Kept, cells: Array) -> dict[str, Any]:
    """Return the number of cells, and the queries and keys of one cell."""
    rows, columns = cells.shape
    return {
        "rows": rows,
        "columns": columns,
        "queries": kept.rows,
        "keys": kept.columns,
        "rowBlock": kept.scale[0] * -(-kept.weights.shape[2] // max(rows, 1)),
        "columnBlock": kept.scale[1] * -(-kept.weights.shape[3] // max(columns, 1)),
    }


def _axes(opened: OpenRun, step: int, sample: int, kept: Kept) -> dict[str, Any]:
    """Tokens, where each has a row and column of its own."""
    inside = seen(opened).inside
    if kept.scale != (1, 1):
        return {"query": None, "key": None}
    batch = opened.keep("batch", step, lambda: Batch(inside.inputs, step))
    return axes(batch, kept, sample, opened.vocabulary)


def _number(column: Array, head: int) -> float | None:
    return float(column[head]) if head < len(column) and np.isfinite(column[head]) else None
