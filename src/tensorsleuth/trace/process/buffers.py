"""The memory addresses of large tensors, from buffers.bin and from events that hold an address in place of a mean."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import BUFFER, BufferKind, EventFlag, EventKind

_SHARED_COLUMNS = ("time", "step", "tensor", "shape", "iteration", "frame", "thread", "dtype", "flags")


def all_buffers(rows: Array, events: Array) -> Array:
    """Return the rows of both files, oldest first. native/src/recording.cc says which tensors are in events."""
    if not len(events):
        return rows
    has_room = (events["kind"] == EventKind.GRAPH) & (events["flags"] & EventFlag.MOMENTS == 0)
    told = np.flatnonzero(has_room & (np.ascontiguousarray(events["mean"]).view(np.uint64) != 0))
    both = np.zeros(len(rows) + len(told), BUFFER)
    both[: len(rows)] = rows
    _fill(both[len(rows) :], events, told)
    return both[np.argsort(both["time"], kind="stable")]


def _fill(made: Array, events: Array, told: Array) -> None:
    """Fill in column by column, because copies of whole events would take twice as much memory."""
    for name in _SHARED_COLUMNS:
        made[name] = events[name][told]
    made["address"] = np.ascontiguousarray(events["mean"][told]).view(np.uint64)
    made["bytes"] = np.ascontiguousarray(events["std"][told]).view(np.uint64)
    made["kind"] = BufferKind.GRAPH
