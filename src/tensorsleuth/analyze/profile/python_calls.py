"""The calls of ops and functions that Python made, in order, on the training thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.trace.process.key_lookup import KeyLookup
from tensorsleuth.trace.query.process_index import ProcessIndex


@dataclass(frozen=True)
class PythonCalls:
    """The calls as columns, in order of time. Times are in nanoseconds, as in rows."""

    begin: Array
    end: Array
    probe_end: Array  # when the probe of its result ended
    call: Array
    step: Array
    op: Array  # place in the list of ops, -1 if unknown
    is_function: Array  # whether it is a call of a function
    waits_for_input: Array  # whether it waits for the next batch
    thread: int

    def __len__(self) -> int:
        return len(self.begin)


def read_python_calls(process_index: ProcessIndex) -> PythonCalls:
    """Return the calls of the thread that spent most of its time in them."""
    rows = process_index.process.calls
    rows = rows[(rows["kind"] == CallKind.OP) | (rows["kind"] == CallKind.ENDED)]
    thread = _busiest(rows)
    rows = rows[rows["thread"] == thread]
    rows = rows[np.argsort(rows["time"], kind="stable")]
    begins = rows["time"].astype(np.int64)
    ends = begins + np.minimum(rows["duration"], np.uint64(1 << 60)).astype(np.int64)
    calls, places = rows["call"].astype(np.int64), _places(process_index, rows["op"])
    takes = np.array(
        [place >= 0 and process_index.op_index.ops[place].type.startswith(INPUT_OPS) for place in places.tolist()], bool
    )
    steps = process_index.steps_of(calls)
    looked = np.maximum(_probe_ends(process_index)(calls), ends)
    return PythonCalls(begins, ends, looked, calls, steps, places, rows["kind"] == CallKind.ENDED, takes, thread)


def _busiest(rows: Array) -> int:
    threads, at = np.unique(rows["thread"], return_inverse=True)
    if not len(threads):
        return 0
    return int(threads[np.argmax(np.bincount(at, rows["duration"].astype(np.float64)))])


def _places(process_index: ProcessIndex, ops: Array) -> Array:
    """Return each eager op's place in the list of ops."""
    known = {op.eager: place for place, op in enumerate(process_index.op_index.ops) if op.eager >= 0}
    return np.array([known.get(op, -1) for op in ops.tolist()], np.int64)


def _probe_ends(process_index: ProcessIndex) -> KeyLookup:
    """Return when the last probe of each call's results ended."""
    events = process_index.process.events
    rows = events[events["kind"] == EventKind.EAGER]
    order = np.argsort(rows["time"], kind="stable")  # if a key occurs twice, the last value counts
    return KeyLookup(rows["step"][order].astype(np.int64), rows["time"][order].astype(np.int64))
