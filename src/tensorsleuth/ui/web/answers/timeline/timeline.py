"""The timeline: counts of tensors by lane and time interval, and the training steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters
from tensorsleuth.ui.web.run.step_times import StepTimes, step_times
from tensorsleuth.ui.web.run.tensor_table import TensorTable

DEFAULT_BINS = 600
MAX_BINS = 4000
MAX_LANES = 64
_MIN_SPAN = 1e-9


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Timeline (web/src/api/types.ts)."""
    begin, end = extent(opened)
    first, last = parameters.number(asked, "from", begin), parameters.number(asked, "to", end)
    first, last = min(first, last), max(first, last)
    last = max(last, first + _MIN_SPAN)
    bins = parameters.integer(asked, "bins", DEFAULT_BINS, 1, MAX_BINS)
    steps, binned = _steps(opened, first, last, bins)
    return {
        "from": first,
        "to": last,
        "begin": begin,
        "end": end,
        "lanes": _lanes(opened.table, first, last, bins),
        "steps": steps,
        "stepBins": binned,
    }


def extent(opened: OpenRun) -> tuple[float, float]:
    """Return when the run's tensors and steps began and ended."""
    times, steps = opened.table.time[opened.table.order], step_times(opened)
    firsts = [float(column.min()) for column in (times, steps.begins) if len(column)]
    lasts = [float(column.max()) for column in (times, steps.ends) if len(column)]
    return min(firsts, default=0.0), max(lasts, default=0.0)


def _lanes(tensor_table: TensorTable, first: float, last: float, bins: int) -> list[dict[str, Any]]:
    """Return the content of each bin of each lane."""
    places = tensor_table.order
    times = tensor_table.time[places]
    inside = np.flatnonzero((times >= first) & (times <= last))
    places = places[inside]
    at = np.minimum(((times[inside] - first) * (bins / (last - first))).astype(np.int64), bins - 1)
    count = min(len(tensor_table.lanes.all), MAX_LANES)
    keys = np.minimum(tensor_table.lane[places].astype(np.int64), count - 1) * bins + at
    bad = np.flatnonzero(tensor_table.flags[places] & EventFlag.BAD)
    counts, worse = np.bincount(keys, minlength=count * bins), np.bincount(keys[bad], minlength=count * bins)
    firsts = _firsts(places, keys, bad, count * bins)
    lanes = sorted(range(count), key=lambda lane: tensor_table.lanes.all[lane].id)
    return [
        _lane(tensor_table, lane, *(column[lane * bins : (lane + 1) * bins] for column in (counts, worse, firsts)))
        for lane in lanes
    ]


def _firsts(places: Array, keys: Array, bad: Array, size: int) -> Array:
    """Return the first bad tensor of each bin, else its first tensor, else -1."""
    firsts = np.full(size, -1, np.int64)
    firsts[keys[::-1]] = places[::-1]
    firsts[keys[bad][::-1]] = places[bad][::-1]
    return firsts


def _lane(tensor_table: TensorTable, number: int, counts: Array, bad: Array, firsts: Array) -> dict[str, Any]:
    lane = tensor_table.lanes.all[number]
    ids = [tensor_table.id(place) if place >= 0 else None for place in firsts.tolist()]
    said = {"id": lane.id, "name": lane.name, "kind": lane.kind}
    return said | {"count": counts.tolist(), "bad": bad.tolist(), "first": ids}


def _steps(opened: OpenRun, first: float, last: float, bins: int) -> tuple[list[Any], dict[str, Any] | None]:
    """Return the steps in an interval; if there are more than bins, a summary of each bin."""
    times = step_times(opened)
    inside = np.flatnonzero((times.ends >= first) & (times.begins <= last))
    if len(inside) <= bins:
        return [_step(opened, times, at) for at in inside.tolist()], None
    at = np.clip(((times.begins[inside] - first) * (bins / (last - first))).astype(np.int64), 0, bins - 1)
    lowest, highest = np.full(bins, np.iinfo(np.int64).max), np.full(bins, -1)
    np.minimum.at(lowest, at, times.steps[inside])
    np.maximum.at(highest, at, times.steps[inside])
    bad = np.bincount(at[times.bad[inside]], minlength=bins) > 0
    there = (highest >= 0).tolist()
    told = ([step if seen else None for step, seen in zip(column.tolist(), there)] for column in (lowest, highest))
    return [], dict(zip(("first", "last"), told)) | {"bad": bad.tolist()}


def _step(opened: OpenRun, times: StepTimes, at: int) -> dict[str, Any]:
    process = opened.trace.processes[int(times.processes[at])]
    batch = process.batches.of_call(int(times.calls[at]))
    step = int(times.steps[at])
    return {
        "step": step,
        "from": float(times.begins[at]),
        "to": float(times.ends[at]),
        "bad": bool(times.bad[at]),
        "name": f"step {step}" + (f", {batch}" if batch is not None and str(batch) else ""),
        "epoch": batch.epoch if batch is not None else None,
    }
