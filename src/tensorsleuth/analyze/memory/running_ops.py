"""The ops that were running at a moment: each thread's next row tells which op it was at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.memory.lifetimes import Lives
from tensorsleuth.analyze.memory.op_times import begins_of
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.trace.query.ops import Op

WITHIN = 60_000_000_000  # nanoseconds that an op may take


@dataclass(frozen=True, slots=True)
class Running:
    """An op that had begun, and not ended."""

    op: Op
    begun: int


def running_at(lives: Lives, time: int) -> list[Running]:
    """Return the ops that run in functions, the earliest first."""
    asked = lives.asked
    events = asked.process.events
    after = events[(events["time"] > time) & (events["time"] < time + WITHIN) & (events["kind"] == EventKind.GRAPH)]
    _, first = np.unique(after["thread"], return_index=True)
    rows = after[np.sort(first)]
    if not len(rows):
        return []
    begun = begins_of(rows, lives.ends, lives.times)
    ops = [asked.index.ops[place] if place >= 0 else None for place in asked.index.places(rows["tensor"]).tolist()]
    found = [Running(op, start) for op, start in zip(ops, begun.tolist(), strict=True) if op is not None]
    return sorted((one for one in found if one.begun <= time), key=lambda one: one.begun)
