"""The weights of an attention layer at one sample: small pictures of all heads, and one head in full."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.attention.batch import AttentionInputs
from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.attention import AttentionSample, AttentionSeries
from tensorsleuth.ui.web.answers.attention import packed
from tensorsleuth.ui.web.answers.attention.axes import axes
from tensorsleuth.ui.web.answers.attention.stats import layer_stats_of, series_of
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

THUMBNAIL_CELLS = 32  # per side of a small picture
MAX_CELLS = 256


def answer_thumbs(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Thumbs (web/src/api/inside.ts)."""
    _, kept, _ = _sampled_weights(opened, asked)
    sample = parameters.integer(asked, "sample", 0, 0, max(len(kept.weights) - 1, 0))
    pictures = (
        [packed.shrink_weights(head, THUMBNAIL_CELLS) for head in kept.weights[sample]] if len(kept.weights) else []
    )
    rows, columns = pictures[0].shape if pictures else (0, 0)
    return {"rows": rows, "columns": columns, "heads": [packed.shades(head) for head in pictures]}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Weights (web/src/api/inside.ts)."""
    one, kept, look = _sampled_weights(opened, asked)
    samples, heads = kept.weights.shape[:2]
    if not samples or not heads:
        raise NotFound("No weights of this attention were kept.", "Its numbers are in the charts.")
    sample = parameters.integer(asked, "sample", 0, 0, samples - 1)
    head = parameters.integer(asked, "head", 0, 0, heads - 1)
    cells = packed.shrink_weights(kept.weights[sample, head], MAX_CELLS)
    return {
        "step": max(int(one.steps[look]), 0),
        "sample": sample,
        "head": head,
        **_sizes(kept, cells),
        "cells": packed.floats(cells),
        "numbers": {name: _number(column, head) for name, column in kept.statistics.items()},
        **_axes(opened, int(one.steps[look]), sample, kept),
    }


def _sampled_weights(opened: OpenRun, asked: Parameters) -> tuple[AttentionSeries, AttentionSample, int]:
    """Return the sample at the requested step or the last one before it; without a step, the latest kept one."""
    one = AttentionSeries(series_of(opened, asked.get("attention", ""), "attention"))
    step = parameters.optional_integer(asked, "step")
    until = len(one) if step is None else max(int(np.searchsorted(one.steps, step, "right")), 1)
    for look in range(until - 1, -1, -1):
        kept = one.kept(look)
        if kept is not None:
            return one, kept, look
        if step is not None:
            break
    raise NotFound("The weights of this step were replaced by later ones.", "Choose a later step.")


def _sizes(attention_sample: AttentionSample, cells: Array) -> dict[str, Any]:
    """Return the number of cells, and the queries and keys of one cell."""
    rows, columns = cells.shape
    return {
        "rows": rows,
        "columns": columns,
        "queries": attention_sample.rows,
        "keys": attention_sample.columns,
        "rowBlock": attention_sample.scale[0] * -(-attention_sample.weights.shape[2] // max(rows, 1)),
        "columnBlock": attention_sample.scale[1] * -(-attention_sample.weights.shape[3] // max(columns, 1)),
    }


def _axes(opened: OpenRun, step: int, sample: int, attention_sample: AttentionSample) -> dict[str, Any]:
    """Return the tokens, if each has its own row and column."""
    inside = layer_stats_of(opened).stats
    if attention_sample.scale != (1, 1):
        return {"query": None, "key": None}
    batch = opened.cache("batch", step, lambda: AttentionInputs(inside.inputs, step))
    return axes(batch, attention_sample, sample, opened.vocabulary)


def _number(column: Array, head: int) -> float | None:
    return float(column[head]) if head < len(column) and np.isfinite(column[head]) else None
