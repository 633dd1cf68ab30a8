"""The ops that were running at a moment. The next row of each thread shows its op."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.memory.lifetimes import BufferLifetimes
from tensorsleuth.analyze.memory.op_times import start_times
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.trace.query.ops import Op

MAX_OP_NANOSECONDS = 60_000_000_000  # the longest that an op is assumed to take


@dataclass(frozen=True, slots=True)
class OpInProgress:
    """An op that had begun and not ended."""

    op: Op
    begun: int


def running_at(buffer_lifetimes: BufferLifetimes, time: int) -> list[OpInProgress]:
    """Return the ops that were running in functions, the earliest first."""
    asked = buffer_lifetimes.process_index
    events = asked.process.events
    after = events[
        (events["time"] > time) & (events["time"] < time + MAX_OP_NANOSECONDS) & (events["kind"] == EventKind.GRAPH)
    ]
    _, first = np.unique(after["thread"], return_index=True)
    rows = after[np.sort(first)]
    if not len(rows):
        return []
    begun = start_times(rows, buffer_lifetimes.last_uses, buffer_lifetimes.times)
    ops = [
        asked.op_index.ops[place] if place >= 0 else None
        for place in asked.op_index.op_numbers(rows["tensor"]).tolist()
    ]
    found = [OpInProgress(op, start) for op, start in zip(ops, begun.tolist(), strict=True) if op is not None]
    return sorted((one for one in found if one.begun <= time), key=lambda one: one.begun)
