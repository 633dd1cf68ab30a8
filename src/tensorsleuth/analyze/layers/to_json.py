"""The JSON of `sleuth layers --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorsleuth.analyze.attention.to_json import finite_or_null
from tensorsleuth.analyze.layers.curves import LayerCurve, ResidualGrowth
from tensorsleuth.trace.series.watched import WatchedSeries


def layers_to_json(
    layers: Sequence[WatchedSeries],
    grown: Sequence[ResidualGrowth],
    gradients: Sequence[WatchedSeries],
    flow: Sequence[LayerCurve],
    updates: Sequence[WatchedSeries],
) -> dict[str, Any]:
    """Return the fields listed in docs/transformers.md."""
    return {
        "layers": [_layer(one) for one in layers],
        "growth": [_growth(one) for one in grown],
        "gradients": [{**_name_and_steps(one), "norm": finite_or_null(one.norm)} for one in gradients],
        "flow": [{"layer": one.name, "steps": one.steps.tolist(), "norm": finite_or_null(one.numbers)} for one in flow],
        "updates": [
            {**_name_and_steps(one), "norm": finite_or_null(one.norm), "ratio": finite_or_null(one.ratio)}
            for one in updates
        ],
    }


def _name_and_steps(one: WatchedSeries) -> dict[str, Any]:
    return {"name": one.name, "steps": one.steps.tolist()}


def _layer(one: WatchedSeries) -> dict[str, Any]:
    counts = {name: one.rows[name].tolist() for name in ("elements", "zero", "nan", "neg_inf", "pos_inf")}
    numbers = {
        name: finite_or_null(getattr(one, name)) for name in ("mean", "std", "norm", "dead", "units", "saturated")
    }
    place = {"op": one.op, "file": one.file, "line": one.line, "by": one.by, "shape": list(one.shape())}
    return _name_and_steps(one) | place | numbers | counts


def _growth(one: ResidualGrowth) -> dict[str, Any]:
    (times,) = finite_or_null([one.times])
    return {"family": one.family, "layers": list(one.layers), "sizes": finite_or_null(one.sizes), "times": times}
