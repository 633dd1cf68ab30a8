"""Layers by steps in one picture: outputs of layers, gradients, and how far steps move the weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.analyze.layers.no_stats import explain_missing_stats
from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.web.answers.attention import packed
from tensorsleuth.ui.web.answers.attention.locations import series_place, series_tensor
from tensorsleuth.ui.web.answers.attention.stats import RunLayerStats, layer_stats_of, series_of
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

KINDS = ("output", "gradient", "update", "variable")
MAX_ROWS, MAX_STEPS = 256, 100  # in a picture

Measure = Callable[[WatchedSeries], Array]


def _bad(series: WatchedSeries) -> Array:
    return np.asarray(sum(series.rows[name].astype(np.float64) for name in ("nan", "neg_inf", "pos_inf")))


COMMON_MEASURES: dict[str, Measure] = {
    "norm": lambda series: series.norm,
    "mean": lambda series: series.mean,
    "std": lambda series: series.std,
    "zeros": lambda series: series.zeros,
}
MEASURES: dict[str, dict[str, Measure]] = {
    "output": {
        **COMMON_MEASURES,
        "dead": lambda series: series.dead / series.units,
        "saturated": lambda series: series.saturated,
    },
    "gradient": COMMON_MEASURES,
    "update": {"ratio": lambda series: series.ratio, "norm": lambda series: series.norm},
    "variable": COMMON_MEASURES,
}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Layers (web/src/api/inside.ts)."""
    found = layer_stats_of(opened)
    there = [kind for kind in KINDS if found.stats.of(kind)]
    kind = parameters.one_of(asked, "kind", KINDS, there[0] if there else KINDS[0])
    series = found.stats.of(kind)
    series = series[::-1] if kind == "gradient" else series  # gradients flow from the last layer to the first
    return {"kinds": there, "kind": kind, "why": _why(opened, found, kind)} | _picture(opened, found, kind, series)


def answer_location(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Spot (web/src/api/inside.ts): the place of a statistic in the program, at a step."""
    series = series_of(opened, asked.get("id", ""), *KINDS, "attention")
    process = layer_stats_of(opened).process
    step = parameters.integer(asked, "step", int(series.steps[-1]), -1)
    return {"tensor": series_tensor(opened, process, series, step), "place": series_place(opened, process, series)}


def _why(opened: OpenRun, found: RunLayerStats, kind: str) -> str | None:
    return None if found.stats.of(kind) else explain_missing_stats(opened.trace, found.stats, f"{kind}s")


def _picture(opened: OpenRun, found: RunLayerStats, kind: str, series: list[WatchedSeries]) -> dict[str, Any]:
    shown = series[:MAX_ROWS]
    steps = np.unique(np.concatenate([one.steps for one in shown])) if shown else np.empty(0, np.int64)
    kept = steps[np.unique(np.linspace(0, len(steps) - 1, min(MAX_STEPS, len(steps))).astype(np.int64))]
    measures = {name: _grid(shown, kept, measure) for name, measure in MEASURES[kind].items()}
    bad = _grid(shown, kept, _bad)
    return {
        "steps": [max(step, 0) for step in kept.tolist()],
        "looks": len(steps),
        "rows": [_row(opened, found, one) for one in shown],
        "leftOut": len(series) - len(shown),
        "measures": {name: packed.floats(grid) for name, grid in _known(measures).items()},
        "bad": packed.floats(bad) if np.nan_to_num(bad).any() else None,
    }


def _known(measures: dict[str, Array]) -> dict[str, Array]:
    """Leave out measures without a number; the first stays if all are, so that samples full of NaN are drawn."""
    known = {name: grid for name, grid in measures.items() if np.isfinite(grid).any()}
    return known or dict(itertools.islice(measures.items(), 1))


def _grid(series: list[WatchedSeries], steps: Array, measure: Measure) -> Array:
    """Return a row for each series and a column for each step, with NaN if there was no sample."""
    grid = np.full((len(series), len(steps)), np.nan)
    for row, one in enumerate(series):
        with np.errstate(all="ignore"):
            values = measure(one)
        at = np.searchsorted(steps, one.steps)
        known = (at < len(steps)) & (steps[np.minimum(at, len(steps) - 1)] == one.steps)
        grid[row, at[known]] = values[known]
    return grid


def _row(opened: OpenRun, found: RunLayerStats, series: WatchedSeries) -> dict[str, Any]:
    shape = list(series.shape())
    return {
        "id": found.id(series),
        "name": series.name,
        "shape": shape,
        "place": series_place(opened, found.process, series),
    }
