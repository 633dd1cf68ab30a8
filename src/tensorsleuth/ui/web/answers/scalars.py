"""Numbers over time: a list of them, and the points of each."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.answers.scalar_series import ScalarFinder
from tensorsleuth.ui.web.run import ids, parameters
from tensorsleuth.ui.web.run.columns import column_values
from tensorsleuth.ui.web.run.downsampling import Downsampler, json_numbers
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

DEFAULT_POINTS = 1000
MAX_POINTS = 4000


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Scalars (web/src/api/types.ts)."""
    found = opened.cache("scalars", None, lambda: ScalarFinder(opened)).all
    items = [{"op": ids.op_id(one.op), "name": one.op.name, "label": one.label, "count": one.count} for one in found]
    return {"items": items}


def answer_points(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Points (web/src/api/types.ts) of one op in an interval of time."""
    places = _within(opened, _of_op(opened, asked.get("op", "")), asked)
    downsampler = Downsampler(len(places), parameters.integer(asked, "points", DEFAULT_POINTS, 1, MAX_POINTS))
    low, high = column_values(opened.table, "min", places), column_values(opened.table, "max", places)
    ends = places[downsampler.lasts]
    return {
        "time": opened.table.time[ends].tolist(),
        "step": [step if step >= 0 else None for step in opened.table.step[ends].tolist()],
        "low": json_numbers(downsampler.minimum(low)),
        "high": json_numbers(downsampler.maximum(high)),
        "value": json_numbers(_values(opened, ends)),
        "ids": [opened.table.id(place) for place in ends.tolist()],
    }


def _of_op(opened: OpenRun, op: str) -> Array:
    """Return an op's first outputs, oldest first."""
    number = opened.table.number_of_op(op)
    places = np.flatnonzero((opened.table.op == number) & (opened.table.kind > 0))
    return np.asarray(places[opened.table.column("tensor", places) == opened.table.ops[number].first_tensor])


def _within(opened: OpenRun, places: Array, asked: Parameters) -> Array:
    """Return the points in a span of time, with one more at either end, so that a line continues beyond it."""
    times = opened.table.time[places]
    if not len(places) or not (asked.get("from") or asked.get("to")):
        return places
    first = parameters.number(asked, "from", float(times[0]))
    last = parameters.number(asked, "to", float(times[-1]))
    inside = np.flatnonzero((times >= min(first, last)) & (times <= max(first, last)))
    if not len(inside):
        return places[:0]
    return places[max(inside[0] - 1, 0) : inside[-1] + 2]


def _values(opened: OpenRun, places: Array) -> Array:
    """Return the numbers, with NaN in place of infinite ones."""
    return column_values(opened.table, "max", places)
