"""Where large tensors lay: the rows of buffers.bin, and those that events have in the place of mean and deviation."""

from __future__ import annotations

import numpy as np

from tensorsleuth.model.rows import BUFFER, BufferKind, EventFlag, EventKind
from tensorsleuth.trace.ring_reader import Array

_SHARED = ("time", "step", "tensor", "shape", "iteration", "frame", "thread", "dtype", "flags")


def all_buffers(rows: Array, events: Array) -> Array:
    """Both, oldest first; native/src/session.cc says which are in events."""
    if not len(events):
        return rows
    has_room = (events["kind"] == EventKind.GRAPH) & (events["flags"] & EventFlag.MOMENTS == 0)
    told = events[has_room & (np.ascontiguousarray(events["mean"]).view(np.uint64) != 0)]
    both = np.concatenate([rows, _as_buffers(told)])
    return both[np.argsort(both["time"], kind="stable")]


def _as_buffers(events: Array) -> Array:
    made = np.zeros(len(events), BUFFER)
    for name in _SHARED:
        made[name] = events[name]
    made["address"] = np.ascontiguousarray(events["mean"]).view(np.uint64)
    made["bytes"] = np.ascontiguousarray(events["std"]).view(np.uint64)
    made["kind"] = BufferKind.GRAPH
    return made
