"""The peak that other batches would take, from an account that is written down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.batch_size.demand import MemoryDemand
from tensorsleuth.analyze.memory.batch_size.peak_model import PeakModel
from tensorsleuth.analyze.memory.lifetimes import BufferLifetime

MB = 1_000_000
BATCH = 8192


class Scratchy(PeakModel):
    """A process of 400 MB whose ops took a tensor of 2 GB and 600 MB of scratch memory with a batch of 8,192."""

    def __init__(self) -> None:
        life = BufferLifetime(0, 0, 1, 0, needed_until=9)
        samples = np.zeros(2, [("resident", "u8"), ("anonymous", "u8")])
        samples["resident"], samples["anonymous"] = (400 * MB, 3000 * MB), (200 * MB, 2800 * MB)
        account = SimpleNamespace(
            lifetimes=SimpleNamespace(all=[life]),
            samples=samples,
            peak=1,
            growth_parts=lambda time: SimpleNamespace(own=0),
        )
        self.account = cast(MemoryAccount, account)
        self.scaling = cast(Any, SimpleNamespace(batch=BATCH, sequence=None))
        self._column, self._failed_allocation = "resident", 0
        values: dict[str, Any] = {"sizes": np.array([2000.0 * MB]), "_powers": np.array([[1, 0]])}
        self.__dict__ |= values | {"demand": MemoryDemand([life])}


def test_scratch_memory_shrinks_with_the_batch() -> None:
    model = Scratchy()
    assert model.peak() == 3000 * MB, "as measured"
    assert model.peak(BATCH // 2) == pytest.approx(1700 * MB)
    assert model.peak(512) == pytest.approx((400 + 2600 / 16) * MB)
    assert 512 < model.largest_batch(600 * MB) < 700, "not `not even a batch of 1`"


def test_a_larger_batch_keeps_the_scratch_memory_that_was_seen() -> None:
    assert Scratchy().peak(2 * BATCH) == 5000 * MB
