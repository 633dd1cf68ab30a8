"""When each op in a function ran, from the times of the probes behind it.

TensorFlow runs a probe right after its op, on the same thread: an op that takes more than a few microseconds is alone
in the queue of its thread. So an op ended when the probe of its output began. It began when the probes of its inputs
had ended and its thread had finished the row before. Ops in between without a row count as part of the op; these
are mostly views and integers among its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.profile.batch_waits import correct_batch_waits
from tensorsleuth.analyze.profile.op_ends import END_OF_TIME, NO_EVENT, OpEnds, read_op_ends
from tensorsleuth.analyze.profile.op_inputs import OpSources
from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.trace.process.key_lookup import KeyLookup
from tensorsleuth.trace.query.process_index import ProcessIndex


@dataclass(frozen=True)
class OpRuns:
    """The runs of ops as columns, one entry for each probe. Only the first of several outputs has a duration."""

    begin: Array
    end: Array
    probe_end: Array
    thread: Array
    op: Array  # place in the list of ops
    call: Array  # the call that Python waits for; -1 for a dataset's own run
    event: Array
    is_extra_output: Array  # another output of the op in an earlier row

    def __len__(self) -> int:
        return len(self.begin)


def op_runs(process_index: ProcessIndex, begin: int = 0, end: int = END_OF_TIME) -> OpRuns:
    """Return the recorded ops in functions of a process that ran in an interval."""
    rows = read_op_ends(process_index, begin, end)
    op_sources = OpSources(process_index.op_index, set(np.unique(rows.tensor).tolist()))
    calls = process_index.calls_of_tf_steps(rows.tf_step)
    free, ready = _thread_free(rows), _inputs_ready(process_index, rows, op_sources)
    floor = np.maximum(np.maximum(free, ready), _call_starts(process_index, calls, rows.end))
    began = np.minimum(np.where(floor > 0, floor, rows.end), rows.end)
    again = _extra_outputs(rows)
    began, ended, threads = correct_batch_waits(rows, np.where(again, rows.end, began), ~again, op_sources.takers)
    return OpRuns(began, ended, rows.probe_end, threads, rows.op, calls, rows.event, again)


def _thread_free(rows: OpEnds) -> Array:
    """Return when each row's thread had finished the row before; 0 for its first."""
    order = np.argsort(rows.thread, kind="stable")
    threads, looked = rows.thread[order], rows.probe_end[order]
    free = np.zeros(len(order), np.int64)
    free[order[1:]] = np.where(threads[1:] == threads[:-1], looked[:-1], 0)
    return free


def _extra_outputs(rows: OpEnds) -> Array:
    """Return which rows are second outputs: the same op, run and iteration as an earlier row."""
    order = np.lexsort((rows.probe_end, rows.loop_turn, rows.op, rows.tf_step))
    same = [column[order][1:] == column[order][:-1] for column in (rows.tf_step, rows.op, rows.loop_turn)]
    again = np.zeros(len(order), bool)
    again[order[1:]] = same[0] & same[1] & same[2] & (rows.event[order[1:]] != NO_EVENT)
    return again


def _call_starts(process_index: ProcessIndex, calls: Array, ends: Array) -> Array:
    """Return when the function of each call began, as far as known; no op in it began earlier."""
    rows = process_index.process.calls
    made, joined = (rows[rows["kind"] == kind] for kind in (CallKind.FUNCTION, CallKind.JOIN))
    times = [KeyLookup(some["call"].astype(np.int64), some["time"].astype(np.int64))(calls) for some in (made, joined)]
    return np.maximum(np.where(times[1] <= ends, times[1], times[0]), 0)


def _inputs_ready(process_index: ProcessIndex, rows: OpEnds, op_sources: OpSources) -> Array:
    """Return when the last probe of each row's inputs ended, in the same run; 0 if none is recorded."""
    ready = np.zeros(len(rows.end), np.int64)
    sources = {op: op_sources.sources(process_index.op_index.ops[op]) for op in np.unique(rows.op).tolist()}
    latest = _Latest(rows)
    for place in range(max(map(len, sources.values()), default=0)):  # a table of all would have ops × inputs entries
        column = np.full(len(process_index.op_index.ops), -1, np.int64)
        for op, tensors in sources.items():
            column[op] = tensors[place] if place < len(tensors) else -1
        ready = np.maximum(ready, latest.of(column[rows.op]))
    return ready


class _Latest:
    """When a tensor's last probe before each row ended, in the same run."""

    def __init__(self, rows: OpEnds) -> None:
        self._rows = rows
        _, self._runs = np.unique(rows.tf_step, return_inverse=True)
        self._size = len(rows.end) + 1
        self._ranks = np.searchsorted(rows.probe_end, rows.end, "left")  # probes that had ended when the op ended
        self._tensors = int(rows.tensor.max(initial=0)) + 1
        keys, places = self._keys(rows.tensor), np.arange(len(rows.end))
        order = np.lexsort((places, keys))
        self._sorted, self._places = keys[order], places[order]
        self._distinct, self._starts = np.unique(self._sorted, return_index=True)
        self._codes = np.repeat(np.arange(len(self._distinct)), np.diff([*self._starts, len(order)])) * self._size
        self._codes += self._places

    def _keys(self, tensors: Array) -> Array:
        return self._runs * np.int64(self._tensors) + tensors

    def of(self, tensors: Array) -> Array:
        """Return the time of one tensor for each row; 0 if it was not recorded, or is -1."""
        if not len(self._distinct):
            return np.zeros(len(tensors), np.int64)
        keys = self._keys(tensors)
        which = np.minimum(np.searchsorted(self._distinct, keys), len(self._distinct) - 1)
        there = (tensors >= 0) & (self._distinct[which] == keys)
        at = np.searchsorted(self._codes, which * self._size + self._ranks, "left") - 1
        there &= (at >= 0) & (self._codes[at] // self._size == which)
        return np.where(there, self._rows.probe_end[self._places[at]], 0)
