"""The rows that show when an op in a function ended: rows of tensors, and end marks of ops without tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.probe_times import probe_durations
from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.trace.query.process_index import ProcessIndex

NO_EVENT = -1
_FIRST_MARK_ID = 1 << 32  # tensor ids have 32 bits
END_OF_TIME = 1 << 62


def mark_id(place: int) -> int:
    """Return the stand-in tensor id of an op that has a mark but no row."""
    return _FIRST_MARK_ID + place


@dataclass(frozen=True)
class OpEnds:
    """The ends as columns, in the order in which the probes ended. Times are in nanoseconds, as in rows."""

    end: Array  # of the op: when the probe of its output began
    probe_end: Array  # when that probe ended
    thread: Array
    tensor: Array  # tensor id; for an op without a recorded output, the `mark_id` of its place
    op: Array  # place in the list of ops
    tf_step: Array  # TensorFlow's step id
    loop_turn: Array  # iteration and loop
    event: Array  # number of the event, or NO_EVENT


def read_op_ends(process_index: ProcessIndex, begin: int = 0, end: int = END_OF_TIME) -> OpEnds:
    """Return the ends in an interval of all ops of a process that the catalogue knows."""
    parts = [_tensors(process_index, begin, end), _passed(process_index, begin, end)]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    return OpEnds(*(column[order] for column in columns))


def _tensors(process_index: ProcessIndex, begin: int, end: int) -> tuple[Array, ...]:
    events = process_index.process.events
    at = np.flatnonzero((events["time"] >= begin) & (events["time"] <= end))
    kinds, flags, places = (
        events["kind"][at],
        events["flags"][at],
        process_index.op_index.op_numbers(events["tensor"][at]),
    )
    known = (kinds == EventKind.GRAPH) & (flags & EventFlag.STEADY == 0) & (places >= 0)
    at, places = at[known], places[known]
    rows = events[at]
    looked = rows["time"].astype(np.int64)
    turn = rows["frame"].astype(np.int64) << 32 | rows["iteration"]
    ends = looked - probe_durations(rows["flags"])
    ids = rows["tensor"].astype(np.int64)
    return ends, looked, rows["thread"].astype(np.int64), ids, places, rows["step"], turn, at


def _passed(process_index: ProcessIndex, begin: int, end: int) -> tuple[Array, ...]:
    rows = process_index.process.op_ends
    rows = rows[(rows["time"] >= begin) & (rows["time"] <= end)]
    instances = {instance.first_tensor: instance.id for instance in process_index.process.catalogue.instances.values()}
    nodes = zip(rows["first"].tolist(), rows["node"].tolist(), strict=True)
    places = [process_index.op_index.op_number(instances.get(first, -1), node) for first, node in nodes]
    known = np.flatnonzero(np.array(places, np.int64) >= 0)
    rows, times = rows[known], rows["time"][known].astype(np.int64)
    none = np.full(len(rows), -1, np.int64)
    ops = np.array(places, np.int64)[known]
    return times, times, rows["thread"].astype(np.int64), ops + _FIRST_MARK_ID, ops, rows["tf_step"], none, none
