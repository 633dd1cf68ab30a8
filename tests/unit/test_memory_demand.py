"""Lives that are replayed with other sizes."""

from __future__ import annotations

import numpy as np

from tensorsleuth.analyze.memory.batch_size.demand import MAPPED, Demand
from tensorsleuth.analyze.memory.lifetimes import Life

MB = 1 << 20


def life(born: int, died: int) -> Life:
    return Life(0, 0, born, 0, until=died)


def test_small_blocks_stay_taken_and_large_ones_are_given_back() -> None:
    demand = Demand([life(0, 2), life(3, 9), life(4, 9)])
    small = np.array([10.0 * MB, 3 * MB, 4 * MB])
    assert (demand.most(small), demand.heap(small)) == (10 * MB, 10 * MB), "of heaps, the most that was ever asked for"
    large = small + [0, MAPPED, 0]
    assert demand.most(large) == 10 * MB + MAPPED + 3 * MB
    assert demand.heap(large) == 10 * MB
    assert demand.most(np.array([MAPPED * 2.0, 3 * MB, 4 * MB])) == 2 * MAPPED, "gone before the others came"


def test_a_pool_gives_nothing_back() -> None:
    demand = Demand([life(0, 2), life(3, 9), life(4, 9)], pooled=True)
    large = np.array([MAPPED * 2.0, 3 * MB, 4 * MB])
    assert demand.most(large) == demand.heap(large) == 2 * MAPPED
    assert demand.most(large + [0, 0, 2 * MAPPED]) == 2 * MAPPED + 7 * MB


def test_another_moment_may_become_the_peak() -> None:
    demand = Demand([life(0, 5), life(6, 9)])
    assert demand.fullest(np.array([5.0, 4.0])) == 0
    assert demand.fullest(np.array([5.0, 8.0])) == 6


def test_nothing_was_seen() -> None:
    demand = Demand([])
    assert (demand.most(np.array([])), demand.fullest(np.array([]))) == (0, 0)
