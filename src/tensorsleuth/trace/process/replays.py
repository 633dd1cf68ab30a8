"""Substitutes the rows of a call's replay for the rows of the original call."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind, EventKind

UNFINISHED = 0  # a kind of row that readers ignore


def has_replays(calls: Array) -> bool:
    return bool((calls["kind"] == CallKind.REPLAYING).any())


def merge_replays(calls: Array, events: Array) -> tuple[Array, Array]:
    """Return the rows as if each replayed call had been recorded in full the first time."""
    calls, events = calls.copy(), events.copy()
    began = calls[calls["kind"] == CallKind.REPLAYING]
    done = calls[calls["kind"] == CallKind.REPLAYED]
    original = dict(zip(done["inputs"][:, 0].tolist(), done["call"].tolist(), strict=True))
    op = dict(zip(done["call"].tolist(), done["op"].tolist(), strict=True))
    vain = set(began["call"].tolist()) - set(original)
    steps_of = _steps(calls)
    hidden = vain | set(original.values())
    _hide(events, hidden, {step for call in hidden for step in steps_of.get(call, ())})
    _rename(calls, events, original)
    for row in np.flatnonzero((calls["kind"] == CallKind.FUNCTION) & np.isin(calls["call"], list(op))):
        calls["op"][row] = op[int(calls["call"][row])]
    calls["kind"][np.isin(calls["kind"], (CallKind.REPLAYING, CallKind.REPLAYED))] = UNFINISHED
    return calls, events


def _steps(calls: Array) -> dict[int, list[int]]:
    """Return TensorFlow's step ids of each call."""
    steps: dict[int, list[int]] = {}
    for row in calls[calls["kind"] == CallKind.JOIN]:
        steps.setdefault(int(row["call"]), []).append(int(row["tf_step"]))
    return steps


def _hide(events: Array, calls: set[int], steps: set[int]) -> None:
    eager = (events["kind"] == EventKind.EAGER) & np.isin(events["step"], list(calls))
    graph = (events["kind"] == EventKind.GRAPH) & np.isin(events["step"], list(steps))
    events["kind"][eager | graph] = UNFINISHED
    events["flags"][eager | graph] = 0


def _rename(calls: Array, events: Array, original: dict[int, int]) -> None:
    """Give the rows of a replay the numbers of the original call."""
    joins = np.flatnonzero((calls["kind"] == CallKind.JOIN) & np.isin(calls["call"], list(original)))
    stale = (calls["kind"] == CallKind.JOIN) & np.isin(calls["call"], list(original.values()))
    calls["kind"][stale] = UNFINISHED
    for row in joins:
        calls["call"][row] = original[int(calls["call"][row])]
    eager = (events["kind"] == EventKind.EAGER) & np.isin(events["step"], list(original))
    for row in np.flatnonzero(eager):
        events["step"][row] = original[int(events["step"][row])]
