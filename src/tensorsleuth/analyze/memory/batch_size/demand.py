"""The memory for tensors of other sizes, from a replay of the same lifetimes."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.lifetimes import BufferLifetime
from tensorsleuth.core.array import Array

# glibc takes blocks of at least this size from the system one by one, and returns them when they are freed. Smaller
# ones come from heaps, which do not shrink while a block at their end is in use.
MAPPED_BLOCK_BYTES = 32 << 20


class MemoryDemand:
    """The lifetimes of one process; each method takes a size for each of them."""

    def __init__(self, lives: list[BufferLifetime], pooled: bool = False) -> None:
        """With `pooled`, freed memory stays in a pool, whatever its size."""
        self._mapped = np.inf if pooled else MAPPED_BLOCK_BYTES
        self._born = np.array([life.born for life in lives], np.int64)
        self._died = np.array([life.died for life in lives], np.int64)
        self._times = np.unique(self._born)

    @cached_property
    def _begins(self) -> tuple[Array, Array]:
        return _order(self._born, self._times)

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        return _order(self._died, self._times)

    def _alive(self, sizes: Array) -> Array:
        """Return the bytes in use at each birth."""
        (begun, upto), (ended, gone) = self._begins, self._ends
        return _sums(sizes[begun])[upto] - _sums(sizes[ended])[gone]

    def heap_peak(self, sizes: Array) -> float:
        """Return the most memory that small blocks took at once."""
        return float(self._alive(np.where(sizes < self._mapped, sizes, 0)).max(initial=0))

    def peak(self, sizes: Array) -> float:
        """Return the peak: small blocks count with the most they ever took, large blocks as long as they live."""
        small = self._alive(np.where(sizes < self._mapped, sizes, 0))
        large = self._alive(np.where(sizes >= self._mapped, sizes, 0))
        return float((np.maximum.accumulate(small) + large).max(initial=0))

    def peak_time(self, sizes: Array) -> int:
        """Return the time at which most memory was in use."""
        return int(self._times[int(self._alive(sizes).argmax())]) if len(self._times) else 0


def _order(moments: Array, times: Array) -> tuple[Array, Array]:
    """Return lifetimes in the order of these times, and how many of them are not after each time."""
    order = np.argsort(moments, kind="stable")
    return order, np.searchsorted(moments[order], times, "right")


def _sums(amounts: Array) -> Array:
    return np.concatenate([[0.0], np.cumsum(amounts, dtype=np.float64)])
