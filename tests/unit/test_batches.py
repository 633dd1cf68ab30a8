"""Which epoch and batch a call belongs to, from the rows that say so."""

from __future__ import annotations

import numpy as np
import pytest

from tensorsleuth.core.fit_position import FitPosition, Phase
from tensorsleuth.core.layout.rows import CALL, CallKind
from tensorsleuth.trace.process.fit_batches import BatchIndex


def rows(*batches: tuple[int, int, int, int]) -> np.ndarray:
    """From (call, phase, epoch + 1, batch + 1)."""
    made = np.zeros(len(batches), CALL)
    for row, (call, phase, epoch, batch) in zip(made, batches):
        row["call"], row["op"], row["kind"] = call, phase, CallKind.BATCH
        row["inputs"][:2] = epoch, batch
    return made


FIT = rows((10, 1, 0, 0), (11, 1, 3, 0), (20, 1, 3, 1), (30, 1, 3, 2), (40, 2, 3, 1), (50, 0, 0, 0))


@pytest.mark.parametrize(
    ("call", "batch", "words"),
    [
        (-1, None, ""),
        (9, None, ""),
        (10, FitPosition(Phase.TRAIN), ""),
        (19, FitPosition(Phase.TRAIN, 2), "epoch 2"),
        (20, FitPosition(Phase.TRAIN, 2, 0), "epoch 2, batch 0"),
        (39, FitPosition(Phase.TRAIN, 2, 1), "epoch 2, batch 1"),
        (40, FitPosition(Phase.EVALUATE, 2, 0), "evaluate, epoch 2, batch 0"),
        (50, None, ""),
        (1 << 40, None, ""),
    ],
)
def test_a_call_belongs_to_the_batch_that_began_before_it(call: int, batch: FitPosition | None, words: str) -> None:
    found = BatchIndex(FIT).of_call(call)
    assert found == batch
    assert str(found or "") == words


def test_many_calls_at_once() -> None:
    batches = BatchIndex(FIT)
    calls = np.array([-1, 5, 20, 35, 60])
    assert batches.of_calls(calls, batches.epochs).tolist() == [-1, -1, 2, 2, -1]
    assert batches.of_calls(calls, batches.batches).tolist() == [-1, -1, 0, 1, -1]
    none = BatchIndex(rows())
    assert none.of_call(3) is None and none.of_calls(calls, none.epochs).tolist() == [-1] * 5


def test_rows_that_make_no_sense() -> None:
    odd = rows((1, 200, 5, 5), (2, 1, 0, 0))
    odd["inputs"][1, :2] = np.uint64((1 << 64) - 1)
    batches = BatchIndex(odd)
    assert batches.of_call(1) is None
    assert batches.of_call(2) == FitPosition(Phase.TRAIN)


def test_a_million_batches_take_little_time_to_ask() -> None:
    many = np.zeros(1_000_000, CALL)
    many["kind"], many["op"], many["call"] = CallKind.BATCH, 1, np.arange(1, 1_000_001) * 3
    many["inputs"][:, 0], many["inputs"][:, 1] = 1, np.arange(1, 1_000_001)
    batches = BatchIndex(many)
    assert batches.of_call(1_500_001) == FitPosition(Phase.TRAIN, 0, 499_999)
    assert batches.of_calls(many["call"].astype(np.int64) + 1, batches.batches).tolist()[::250_000] == [
        0, 250_000, 500_000, 750_000,
    ]  # fmt: skip
