"""Unions of intervals, which tell how much of another interval they cover without counting anything twice."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array


class IntervalUnion:
    """The union of some intervals."""

    def __init__(self, begins: Array, ends: Array) -> None:
        real = ends > begins
        begins, ends = begins[real], ends[real]
        order = np.argsort(begins, kind="stable")
        begins, reach = begins[order], np.maximum.accumulate(ends[order])
        new = (
            np.flatnonzero(np.concatenate([[True], begins[1:] > reach[:-1]])) if len(begins) else np.empty(0, np.int64)
        )
        self.begins = begins[new]
        self.ends = reach[np.concatenate([new[1:] - 1, [len(reach) - 1]])] if len(begins) else ends
        self._before = np.concatenate([[0], np.cumsum(self.ends - self.begins)])

    def __or__(self, other: IntervalUnion) -> IntervalUnion:
        return IntervalUnion(np.concatenate([self.begins, other.begins]), np.concatenate([self.ends, other.ends]))

    def covered_time(self, begins: Array, ends: Array) -> Array:
        """Return the covered part of each interval."""
        covered: Array = self._until(ends) - self._until(begins)
        return covered

    def _until(self, times: Array) -> Array:
        """Return the covered time before each of the times."""
        if not len(self.begins):
            return np.zeros(len(times), np.int64)
        at = np.searchsorted(self.begins, times, "right") - 1
        inside = np.minimum(times, self.ends[at]) - self.begins[at]
        return np.where(at >= 0, self._before[at] + inside, 0)
