"""TensorFlow's memory pool for tensors under oneDNN, which is never returned to the system."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from tensorsleuth.analyze.memory.lifetimes import BufferLifetime
from tensorsleuth.core.array import Array

PoolPiece = tuple[int, int, int]  # address, end, time of the first tensor there


class OneDnnPool:
    """The used part of a pool. A page that once held a tensor stays resident."""

    def __init__(self, lives: Iterable[BufferLifetime]) -> None:
        parts = sorted(_parts(_pieces(lives)))
        self._times = np.array([time for time, _ in parts], np.int64)
        self._sums = np.concatenate([[0], np.cumsum([size for _, size in parts], dtype=np.int64)])

    def bytes_used(self, times: Array) -> Array:
        """Return the bytes that had held a tensor up to each of these times."""
        return np.asarray(self._sums[np.searchsorted(self._times, times, "right")])


def _pieces(lives: Iterable[BufferLifetime]) -> list[PoolPiece]:
    """Return each piece of memory once, lowest address first. Steps reuse the same pieces."""
    first: dict[tuple[int, int], int] = {}
    for life in lives:
        place = life.address, life.address + life.bytes
        first[place] = min(first.get(place, life.born), life.born)
    return sorted((begin, end, born) for (begin, end), born in first.items())


def _parts(pool_pieces: list[PoolPiece]) -> Iterator[tuple[int, int]]:
    """Cut pieces where others begin or end. Yield the first use and the size of each part."""
    edges = sorted({edge for begin, end, _ in pool_pieces for edge in (begin, end)})
    here: list[tuple[int, int]] = []  # a heap: the earliest of the pieces that cover the part
    at = 0
    for begin, end in itertools.pairwise(edges):
        while at < len(pool_pieces) and pool_pieces[at][0] <= begin:
            heapq.heappush(here, (pool_pieces[at][2], pool_pieces[at][1]))
            at += 1
        while here and here[0][1] <= begin:
            heapq.heappop(here)
        if here:
            yield here[0][0], end - begin
