"""The rows that tell when an op in a function had ended: of tensors, and of ops that put out none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.model.rows import CallKind, EventFlag, EventKind
from tensorsleuth.timing.looks import look_times
from tensorsleuth.trace.asked import Asked
from tensorsleuth.trace.ring_reader import Array

NO_EVENT = -1


@dataclass(frozen=True)
class Seen:
    """Columns, in the order in which looks were over; times in nanoseconds, as the rows have them."""

    end: Array  # of the op: when the look at what it put out began
    looked: Array  # when that look was over
    thread: Array
    tensor: Array  # -1 of an op that puts out none
    op: Array  # place in `asked.index.ops`
    run: Array  # TensorFlow's step id
    turn: Array  # which iteration of which loop
    event: Array  # number of the event, or NO_EVENT


def seen(asked: Asked) -> Seen:
    """All of a process whose op is known."""
    parts = [_tensors(asked), _passed(asked)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    return Seen(*(column[order] for column in columns))


def _tensors(asked: Asked) -> tuple[Array, ...]:
    events = asked.process.events
    kinds, flags = events["kind"], events["flags"]
    at = np.flatnonzero((kinds == EventKind.GRAPH) & (flags & EventFlag.STEADY == 0) & (asked.places >= 0))
    rows = events[at]
    looked = rows["time"].astype(np.int64)
    turn = rows["frame"].astype(np.int64) << 32 | rows["iteration"]
    ends = looked - look_times(rows["flags"])
    ids = rows["tensor"].astype(np.int64)
    return ends, looked, rows["thread"].astype(np.int64), ids, asked.places[at], rows["step"], turn, at


def _passed(asked: Asked) -> tuple[Array, ...]:
    calls = asked.process.calls
    rows = calls[calls["kind"] == CallKind.PASSED]
    instances = {instance.first: instance.id for instance in asked.process.catalogue.instances.values()}
    nodes = zip(rows["inputs"][:, 0].tolist(), rows["op"].tolist())
    places = [asked.index.place(instances.get(first, -1), node) for first, node in nodes]
    known = np.flatnonzero(np.array(places, np.int64) >= 0)
    rows, times = rows[known], rows["time"][known].astype(np.int64)
    none = np.full(len(rows), -1, np.int64)
    ops = np.array(places, np.int64)[known]
    return times, times, rows["thread"].astype(np.int64), none, ops, rows["tf_step"], none, none
