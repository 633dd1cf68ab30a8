"""Lives that are replayed with other sizes."""

from __future__ import annotations

import numpy as np

from tensorsleuth.analyze.memory.batch_size.demand import MAPPED_BLOCK_BYTES, MemoryDemand
from tensorsleuth.analyze.memory.lifetimes import BufferLifetime

MB = 1 << 20


def life(born: int, died: int) -> BufferLifetime:
    return BufferLifetime(0, 0, born, 0, needed_until=died)


def test_small_blocks_stay_taken_and_large_ones_are_given_back() -> None:
    demand = MemoryDemand([life(0, 2), life(3, 9), life(4, 9)])
    small = np.array([10.0 * MB, 3 * MB, 4 * MB])
    assert (demand.peak(small), demand.heap_peak(small)) == (10 * MB, 10 * MB), (
        "of heaps, the most that was ever asked for"
    )
    large = small + [0, MAPPED_BLOCK_BYTES, 0]
    assert demand.peak(large) == 10 * MB + MAPPED_BLOCK_BYTES + 3 * MB
    assert demand.heap_peak(large) == 10 * MB
    assert demand.peak(np.array([MAPPED_BLOCK_BYTES * 2.0, 3 * MB, 4 * MB])) == 2 * MAPPED_BLOCK_BYTES, (
        "gone before the others came"
    )


def test_a_pool_gives_nothing_back() -> None:
    demand = MemoryDemand([life(0, 2), life(3, 9), life(4, 9)], pooled=True)
    large = np.array([MAPPED_BLOCK_BYTES * 2.0, 3 * MB, 4 * MB])
    assert demand.peak(large) == demand.heap_peak(large) == 2 * MAPPED_BLOCK_BYTES
    assert demand.peak(large + [0, 0, 2 * MAPPED_BLOCK_BYTES]) == 2 * MAPPED_BLOCK_BYTES + 7 * MB


def test_another_moment_may_become_the_peak() -> None:
    demand = MemoryDemand([life(0, 5), life(6, 9)])
    assert demand.peak_time(np.array([5.0, 4.0])) == 0
    assert demand.peak_time(np.array([5.0, 8.0])) == 6


def test_nothing_was_seen() -> None:
    demand = MemoryDemand([])
    assert (demand.peak(np.array([])), demand.peak_time(np.array([]))) == (0, 0)
