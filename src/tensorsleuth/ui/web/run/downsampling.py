"""Summarizes a long row of numbers in few points, in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array


class Downsampler:
    """Divides `count` entries into at most `most` points of about equal size."""

    def __init__(self, count: int, most: int) -> None:
        ends = np.linspace(0, count, min(count, most) + 1).astype(np.int64)
        self.firsts, self.lasts = ends[:-1], ends[1:] - 1

    def minimum(self, column: Array) -> Array:
        """Return the smallest number of each point; unknown ones do not count."""
        return np.fmin.reduceat(column, self.firsts) if len(self.firsts) else column[:0]

    def maximum(self, column: Array) -> Array:
        return np.fmax.reduceat(column, self.firsts) if len(self.firsts) else column[:0]

    def mean(self, column: Array) -> Array:
        """Return the mean of the known numbers."""
        if not len(self.firsts):
            return column[:0]
        known = np.isfinite(column)
        counts = np.add.reduceat(known.astype(np.float64), self.firsts)
        with np.errstate(all="ignore"):
            return np.asarray(np.add.reduceat(np.where(known, column, 0.0), self.firsts) / counts)

    def total(self, *columns: Array) -> list[int]:
        """Return the sums of integers, -1 if none was counted."""
        if not len(self.firsts):
            return []
        counts = sum(np.maximum(column, 0).astype(np.float64) for column in columns)
        unknown = np.logical_and.reduceat(columns[0] < 0, self.firsts)
        sums = np.where(unknown, -1, np.add.reduceat(counts, self.firsts))
        return [int(number) for number in sums]

    def argmax(self, column: Array) -> Array:
        """Return the index of the largest entry of each point, the first of equal ones."""
        at = [first + int(np.argmax(column[first : last + 1])) for first, last in zip(self.firsts, self.lasts)]
        return np.array(at, np.int64)


def json_numbers(column: Array) -> list[Any]:
    """Return numbers as JSON can hold them: None for NaN or infinite."""
    return [number if finite else None for number, finite in zip(column.tolist(), np.isfinite(column).tolist())]
