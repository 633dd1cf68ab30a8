"""Sums up a long row of numbers in few points, in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array


class Downsampler:
    """`count` entries, in at most `most` points of about as many each."""

    def __init__(self, count: int, most: int) -> None:
        ends = np.linspace(0, count, min(count, most) + 1).astype(np.int64)
        self.firsts, self.lasts = ends[:-1], ends[1:] - 1

    def minimum(self, column: Array) -> Array:
        """The smallest of each point; what is not known does not count."""
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
        """The sums of integers, -1 where none was counted."""
        if not len(self.firsts):
            return []
        counts = sum(np.maximum(column, 0).astype(np.float64) for column in columns)
        unknown = np.logical_and.reduceat(columns[0] < 0, self.firsts)
        sums = np.where(unknown, -1, np.add.reduceat(counts, self.firsts))
        return [int(number) for number in sums]

    def argmax(self, column: Array) -> Array:
        """The number of the largest entry of each point; of equal ones the first."""
        at = [first + int(np.argmax(column[first : last + 1])) for first, last in zip(self.firsts, self.lasts)]
        return np.array(at, np.int64)


def json_numbers(column: Array) -> list[Any]:
    """Numbers as JSON can hold them: what is not finite is None."""
    return [number if finite else None for number, finite in zip(column.tolist(), np.isfinite(column).tolist())]
