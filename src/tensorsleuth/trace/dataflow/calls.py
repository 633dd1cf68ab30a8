"""The calls of a process and the eager tensors passed between them, found by binary search in sorted columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import EagerOp
from tensorsleuth.core.layout.rows import NO_UID, CallKind, EventKind
from tensorsleuth.trace.dataflow.observed_tensor import uids_of
from tensorsleuth.trace.process.process import ProcessTrace

NO_PLACES: Array = np.empty(0, np.int64)
_KINDS_WITH_INPUTS = (CallKind.OP, CallKind.FUNCTION, CallKind.MORE_INPUTS)


class ColumnIndex:
    """Finds the positions of a value in a column. Equal values are mostly adjacent: such a range is one entry."""

    def __init__(self, column: Array, places: Array | None = None) -> None:
        begins = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]])) if len(column) else NO_PLACES
        order = np.argsort(column[begins], kind="stable")
        self._sorted = column[begins[order]]
        self._begins = begins[order]
        self._lengths = np.diff(begins, append=len(column))[order]
        self._places = places.astype(np.int32, copy=False) if places is not None else None

    def places(self, value: int) -> Array:
        """Return the positions of a value, ascending."""
        if value < 0:  # no call: rows that a dataset computed
            return NO_PLACES
        wanted = self._sorted.dtype.type(value)
        first = int(np.searchsorted(self._sorted, wanted, "left"))
        last = int(np.searchsorted(self._sorted, wanted, "right"))
        found = _join_ranges(self._begins[first:last], self._lengths[first:last])
        return found if self._places is None else self._places[found]


def _join_ranges(begins: Array, lengths: Array) -> Array:
    """Return the numbers of several ranges, one range after the other."""
    if len(begins) == 1:
        return np.arange(begins[0], begins[0] + lengths[0])
    ends = np.cumsum(lengths)
    return np.repeat(begins - ends + lengths, lengths) + np.arange(ends[-1] if len(ends) else 0)


class CallIndex:
    """The calls of a process, with their callers, arguments and results."""

    def __init__(self, process: ProcessTrace) -> None:
        self.process = process
        self._inputs: dict[int, list[int]] = {}

    @cached_property
    def _calls(self) -> ColumnIndex:
        return ColumnIndex(self.process.calls["call"])

    @cached_property
    def _consumers(self) -> ColumnIndex:
        """Return the calls as an index by the uid of an input."""
        calls = self.process.calls
        inputs = calls["inputs"]
        used = np.arange(inputs.shape[1]) < calls["inputs_count"][:, None]
        used &= np.isin(calls["kind"], _KINDS_WITH_INPUTS)[:, None]
        rows, columns = np.nonzero(used)
        return ColumnIndex(inputs[rows, columns], rows)

    @cached_property
    def _eager_uids(self) -> ColumnIndex:
        places = self._places_of(EventKind.EAGER)
        rows = self.process.events[places]
        return ColumnIndex(uids_of(rows), places)

    @cached_property
    def _eager_calls(self) -> ColumnIndex:
        places = self._places_of(EventKind.EAGER)
        return ColumnIndex(self.process.events["step"][places], places)

    @cached_property
    def _graph_steps(self) -> ColumnIndex:
        places = self._places_of(EventKind.GRAPH)
        return ColumnIndex(self.process.events["step"][places], places)

    def _places_of(self, kind: EventKind) -> Array:
        return np.flatnonzero(self.process.events["kind"] == kind)

    @cached_property
    def _steps(self) -> dict[int, list[int]]:
        """Return TensorFlow's step ids of each call."""
        steps: dict[int, list[int]] = {}
        for step, call in self.process.call_of_tf_step.items():
            steps.setdefault(call, []).append(step)
        return steps

    def row(self, call: int) -> Any | None:
        """Return the row that says which op was called, and when."""
        rows = self.process.calls[self._calls.places(call)]
        return next((row for row in rows if row["kind"] in (CallKind.OP, CallKind.FUNCTION)), None)

    def op(self, call: int) -> EagerOp | None:
        row = self.row(call)
        return self.process.catalogue.eager.get(int(row["op"])) if row is not None else None

    def step(self, call: int) -> int | None:
        """Return the training step of a call."""
        row = self.row(call)
        return int(row["step"]) if row is not None and row["step"] >= 0 else None

    def inputs(self, call: int) -> list[int]:
        """Return the uids of a call's inputs, in order, with NO_UID for a value that is not a tensor."""
        known = self._inputs.get(call)
        if known is None:
            rows = self.process.calls[self._calls.places(call)]
            taken = (row for row in rows if row["kind"] in _KINDS_WITH_INPUTS)
            known = [uid for row in taken for uid in row["inputs"][: int(row["inputs_count"])].tolist()]
            self._inputs[call] = known
        return known

    def consumers(self, uid: int) -> list[int]:
        """Return the calls that took a tensor as input, oldest first."""
        return sorted(set(self.process.calls["call"][self._consumers.places(uid)].tolist()))

    def event_of(self, uid: int) -> int | None:
        """Return the number of the event of an eager tensor."""
        places = self._eager_uids.places(uid) if uid != NO_UID else NO_PLACES
        return int(places[0]) if len(places) else None

    def event_numbers(self, call: int, tf_step: int = -1) -> Array:
        """Return the event numbers of a call, or of a dataset's run under one of TensorFlow's step ids."""
        if call < 0:
            places = [self._graph_steps.places(tf_step)]
        else:
            places = [self._graph_steps.places(step) for step in self._steps.get(call, [])]
            places.append(self._eager_calls.places(call))
        return np.sort(np.concatenate(places))
