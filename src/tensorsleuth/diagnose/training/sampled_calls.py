"""Calls of an op or a function, a few of them evenly over the run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.trace.process.process import ProcessTrace


def sampled_calls(process: ProcessTrace, ops: Sequence[int], kind: CallKind, most: int) -> list[int]:
    """Return at most so many calls of these ops, the first and the last among them."""
    calls = process.calls
    numbers = calls["call"][(calls["kind"] == kind) & np.isin(calls["op"], ops)]
    if not len(numbers):
        return []
    places = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), most)).astype(int))
    return [int(numbers[at]) for at in places]
