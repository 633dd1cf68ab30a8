"""The times at which tensors were computed, for many tensors of one process at once."""

from __future__ import annotations

import numpy as np

from tensorsleuth.analyze.memory.last_use import LastUses
from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.trace.query.process_index import ProcessIndex

NEVER = np.iinfo(np.int64).max


class ComputeTimes:
    """The times by TensorFlow's step id and tensor id."""

    def __init__(self, process_index: ProcessIndex) -> None:
        events = process_index.process.events
        graph = events[events["kind"] == EventKind.GRAPH]
        self._process_index = process_index
        self._steps = np.unique(graph["step"])
        at = np.searchsorted(self._steps, graph["step"])
        keys = self._key(at, graph["tensor"].astype(np.int64))
        order = np.lexsort((graph["time"], keys))
        self._keys, self._times = keys[order], graph["time"][order].astype(np.int64)
        self._last = _latest(at, graph["time"].astype(np.int64), len(self._steps))

    @staticmethod
    def _key(step: Array, tensor: Array) -> Array:
        return (step.astype(np.int64) << 32) | tensor

    def next_time(self, steps: Array, tensors: Array, times: Array) -> Array:
        """Return the first time, not before `times`, at which each tensor was computed in that step, else NEVER."""
        if not len(self._keys):
            return np.full(len(steps), NEVER)
        at = np.minimum(np.searchsorted(self._steps, steps), len(self._steps) - 1)
        _, last, place = self._range(at, tensors, times)
        found = (place < last) & (self._steps[at] == steps)
        return np.where(found, self._times[np.minimum(place, len(self._times) - 1)], NEVER)

    def last_time(self, steps: Array, tensors: Array, times: Array) -> Array:
        """Return the last time, before `times`, at which each tensor was computed in that step, else 0."""
        if not len(self._keys):
            return np.zeros(len(steps), np.int64)
        at = np.minimum(np.searchsorted(self._steps, steps), len(self._steps) - 1)
        first, place = self._range(at, tensors, times)[::2]
        found = (place > first) & (self._steps[at] == steps)
        return np.where(found, self._times[np.maximum(place - 1, 0)], 0)

    def _range(self, at: Array, tensors: Array, times: Array) -> tuple[Array, Array, Array]:
        """Return begin and end of a tensor's times, and the first that is not before a time."""
        wanted = self._key(at, tensors)
        first, last = np.searchsorted(self._keys, wanted, "left"), np.searchsorted(self._keys, wanted, "right")
        return first, last, _first_not_before(self._times, first, last, times)

    def last_on_thread(self, threads: Array, times: Array) -> Array:
        """Return the last time before `times` at which each thread computed something, else 0."""
        found = np.zeros(len(times), np.int64)
        for thread in np.unique(threads).tolist():
            at, own = np.flatnonzero(threads == thread), np.sort(self._of_thread(thread))
            places = np.searchsorted(own, times[at], "left") - 1
            found[at] = np.where(places >= 0, own[np.maximum(places, 0)], 0) if len(own) else 0
        return found

    def _of_thread(self, thread: int) -> Array:
        events = self._process_index.process.events
        return np.asarray(events["time"][events["thread"] == thread], np.int64)

    def is_under_way(self, steps: Array) -> Array:
        """Return which step ids belong to calls that never returned: tensors that these had not used yet are alive."""
        calls = self._process_index.process.calls
        over = calls["call"][np.isin(calls["kind"], (CallKind.ENDED, CallKind.FAILED))]
        begun = np.setdiff1d(calls["call"][calls["kind"] == CallKind.FUNCTION], over)
        joined = self._process_index.process.call_of_tf_step
        found = (joined.get(step, -1) for step in steps.tolist())
        return np.isin(np.fromiter(found, np.int64, len(steps)), begun.astype(np.int64))

    def call_ends(self, steps: Array) -> Array:
        """Return when the call of each of TensorFlow's step ids returned, else the time of its last row."""
        calls = self._process_index.process.calls
        ended = calls[calls["kind"] == CallKind.ENDED]
        ends = dict(zip(ended["call"].tolist(), (ended["time"] + ended["duration"]).tolist(), strict=True))
        joined = self._process_index.process.call_of_tf_step
        at = np.searchsorted(self._steps, steps)
        last = [int(self._last[place]) if place < len(self._last) else 0 for place in at.tolist()]
        found = (max(ends.get(joined.get(step, -1), 0), end) for step, end in zip(steps.tolist(), last, strict=True))
        return np.fromiter(found, np.int64, len(steps))


def _latest(groups: Array, times: Array, count: int) -> Array:
    latest = np.zeros(count, np.int64)
    np.maximum.at(latest, groups, times)
    return latest


def _first_not_before(times: Array, first: Array, last: Array, wanted: Array) -> Array:
    """Return for each range of a sorted column the first position not before a time, by bisection of all at once."""
    low, high = first.copy(), last.copy()
    while (open_still := low < high).any():
        middle = (low + high) // 2
        before = open_still & (times[np.minimum(middle, len(times) - 1)] < wanted)
        low = np.where(before, middle + 1, low)
        high = np.where(open_still & ~before, middle, high)
    return low


def release_times(rows: Array, last_uses: LastUses, compute_times: ComputeTimes) -> Array:
    """Return when the buffer of each of these graph rows was released, as far as the graph shows."""
    steps, born = rows["step"], rows["time"].astype(np.int64)
    found = born.copy()
    call_ends = compute_times.call_ends(steps) if len(rows) else born
    unused = np.where(
        compute_times.is_under_way(steps), NEVER, born
    )  # tensors without a consumer: none will come after the end of the call
    call_ends = np.maximum(call_ends, unused)
    for tensor in np.unique(rows["tensor"]).tolist():
        at = np.flatnonzero(rows["tensor"] == tensor)
        end = last_uses.last_use(tensor)
        for mark in end.marks:
            ids = [compute_times.next_time(steps[at], np.full(len(at), one), born[at]) for one in mark]
            first = np.minimum.reduce(ids)
            found[at] = np.maximum(found[at], np.where(first == NEVER, unused[at], first))
        if end.with_call:
            found[at] = np.maximum(found[at], call_ends[at])
    return found


def start_times(rows: Array, last_uses: LastUses, compute_times: ComputeTimes) -> Array:
    """Return when the op of each of these rows began: it takes the memory then, but its row is written at its end.

    The begin is not before the op's inputs were computed, nor before the thread's previous row.
    """
    steps, seen = rows["step"], rows["time"].astype(np.int64)
    found = compute_times.last_on_thread(rows["thread"], seen)
    for tensor in np.unique(rows["tensor"]).tolist():
        at = np.flatnonzero(rows["tensor"] == tensor)
        for source in last_uses.sources(tensor):
            found[at] = np.maximum(found[at], compute_times.last_time(steps[at], np.full(len(at), source), seen[at]))
    return np.where(found > 0, found, seen)
