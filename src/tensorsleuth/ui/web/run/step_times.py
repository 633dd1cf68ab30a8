"""The begin and end of each training step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.ui.web.run.open_run import OpenRun

_TIMED = (CallKind.OP, CallKind.FUNCTION, CallKind.ENDED)


class StepTimes(NamedTuple):
    """One row for each step, in order: number, begin, end, an example of its calls, whether it has a bad value."""

    steps: Array
    begins: Array
    ends: Array
    processes: Array
    calls: Array
    bad: Array


def step_times(opened: OpenRun) -> StepTimes:
    """Return the step times of the whole run, cached."""
    return opened.cache("steps", None, lambda: _make(opened))


def _make(opened: OpenRun) -> StepTimes:
    parts = [_of_process(opened, asked) for asked in opened.table.process_indexes]
    steps, begins, ends, processes, calls = (
        (np.concatenate(columns) for columns in zip(*parts)) if parts else (np.empty(0, np.int64) for _ in range(5))
    )
    order = np.argsort(steps, kind="stable")
    numbers, first = np.unique(steps[order], return_index=True)
    if not len(numbers):
        return StepTimes(numbers, begins, ends, processes, calls, np.empty(0, bool))
    went_bad = np.isin(numbers, np.unique(opened.table.step[opened.table.bad]))
    return StepTimes(
        numbers,
        np.minimum.reduceat(begins[order], first),
        np.maximum.reduceat(ends[order], first),
        processes[order][first],
        calls[order][first],
        went_bad,
    )


def _of_process(opened: OpenRun, process_index: ProcessIndex) -> tuple[Array, ...]:
    """Return for each step of a process its number, first begin, last end, process and first call."""
    calls = process_index.process.calls
    kinds, steps = np.array(calls["kind"]), np.array(calls["step"])
    timed = np.flatnonzero((steps >= 0) & np.logical_or.reduce([kinds == kind for kind in _TIMED]))
    steps = steps[timed]
    if (steps[1:] < steps[:-1]).any():  # threads run in parallel
        order = np.argsort(steps, kind="stable")
        timed, steps = timed[order], steps[order]
    if not len(steps):
        return tuple(np.empty(0, np.int64) for _ in range(5))
    first = np.flatnonzero(np.concatenate([[True], steps[1:] != steps[:-1]]))
    begins = opened.table.lanes.seconds(process_index.number, calls["time"][timed])
    ends = begins + np.minimum(calls["duration"][timed], np.uint64(1 << 62)).astype(np.float64) / 1e9
    return (
        steps[first],
        np.minimum.reduceat(begins, first),
        np.maximum.reduceat(ends, first),
        np.full(len(first), process_index.number),
        calls["call"][timed[first]].astype(np.int64),
    )
