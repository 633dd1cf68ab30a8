"""The rows that tell when an op in a function had ended: of tensors, and of ops that put out none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.probe_times import look_times
from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.trace.query.process_index import Asked

NO_EVENT = -1
_MARKS = 1 << 32  # tensor ids have 32 bits
LAST = 1 << 62


def mark_of(place: int) -> int:
    """Return the stand-in for a tensor of an op that has a mark and no row."""
    return _MARKS + place


@dataclass(frozen=True)
class Seen:
    """Columns, in the order in which looks were over; times in nanoseconds, as the rows have them."""

    end: Array  # of the op: when the look at what it put out began
    looked: Array  # when that look was over
    thread: Array
    tensor: Array  # its id; of an op that puts out none that is looked at, `mark_of` its place
    op: Array  # place in `asked.index.ops`
    run: Array  # TensorFlow's step id
    turn: Array  # which iteration of which loop
    event: Array  # number of the event, or NO_EVENT


def seen(asked: Asked, begin: int = 0, end: int = LAST) -> Seen:
    """All of a process whose op is known, in a stretch of time."""
    parts = [_tensors(asked, begin, end), _passed(asked, begin, end)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    return Seen(*(column[order] for column in columns))


def _tensors(asked: Asked, begin: int, end: int) -> tuple[Array, ...]:
    events = asked.process.events
    at = np.flatnonzero((events["time"] >= begin) & (events["time"] <= end))
    kinds, flags, places = events["kind"][at], events["flags"][at], asked.index.places(events["tensor"][at])
    known = (kinds == EventKind.GRAPH) & (flags & EventFlag.STEADY == 0) & (places >= 0)
    at, places = at[known], places[known]
    rows = events[at]
    looked = rows["time"].astype(np.int64)
    turn = rows["frame"].astype(np.int64) << 32 | rows["iteration"]
    ends = looked - look_times(rows["flags"])
    ids = rows["tensor"].astype(np.int64)
    return ends, looked, rows["thread"].astype(np.int64), ids, places, rows["step"], turn, at


def _passed(asked: Asked, begin: int, end: int) -> tuple[Array, ...]:
    rows = asked.process.passed
    rows = rows[(rows["time"] >= begin) & (rows["time"] <= end)]
    instances = {instance.first: instance.id for instance in asked.process.catalogue.instances.values()}
    nodes = zip(rows["first"].tolist(), rows["node"].tolist(), strict=True)
    places = [asked.index.place(instances.get(first, -1), node) for first, node in nodes]
    known = np.flatnonzero(np.array(places, np.int64) >= 0)
    rows, times = rows[known], rows["time"][known].astype(np.int64)
    none = np.full(len(rows), -1, np.int64)
    ops = np.array(places, np.int64)[known]
    return times, times, rows["thread"].astype(np.int64), ops + _MARKS, ops, rows["tf_step"], none, none
