"""The JSON of `sleuth layers --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorsleuth.analyze.attention.to_json import plain
from tensorsleuth.analyze.layers.curves import Curve, Growth
from tensorsleuth.trace.series.watched import WatchedSeries


def layers_told(
    layers: Sequence[WatchedSeries],
    grown: Sequence[Growth],
    gradients: Sequence[WatchedSeries],
    flow: Sequence[Curve],
    updates: Sequence[WatchedSeries],
) -> dict[str, Any]:
    """Docs/transformers.md has the fields."""
    return {
        "layers": [_layer(one) for one in layers],
        "growth": [_growth(one) for one in grown],
        "gradients": [{**_named(one), "norm": plain(one.norm)} for one in gradients],
        "flow": [{"layer": one.name, "steps": one.steps.tolist(), "norm": plain(one.numbers)} for one in flow],
        "updates": [{**_named(one), "norm": plain(one.norm), "ratio": plain(one.ratio)} for one in updates],
    }


def _named(one: WatchedSeries) -> dict[str, Any]:
    return {"name": one.name, "steps": one.steps.tolist()}


def _layer(one: WatchedSeries) -> dict[str, Any]:
    counts = {name: one.rows[name].tolist() for name in ("elements", "zero", "nan", "neg_inf", "pos_inf")}
    numbers = {name: plain(getattr(one, name)) for name in ("mean", "std", "norm", "dead", "units", "saturated")}
    place = {"op": one.op, "file": one.file, "line": one.line, "by": one.by, "shape": list(one.shape())}
    return _named(one) | place | numbers | counts


def _growth(one: Growth) -> dict[str, Any]:
    (times,) = plain([one.times])
    return {"family": one.family, "layers": list(one.layers), "sizes": plain(one.sizes), "times": times}
