"""One process, made ready for questions: for each event its op and its training step, all as arrays."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.model.rows import CallKind, EventKind
from tensorsleuth.trace.moment import Moments
from tensorsleuth.trace.ops import OpIndex
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array
from tensorsleuth.trace.takers import Takers


class Asked:
    """What questions of one process have in common; nothing is made before it is needed."""

    def __init__(self, process: ProcessTrace, number: int) -> None:
        self.process = process
        self.number = number
        self.index = OpIndex(process, number)

    @cached_property
    def places(self) -> Array:
        """For each event the number in `index.ops` of its op, -1 where it is not known."""
        return self.index.places(self.process.events["tensor"])

    @cached_property
    def calls(self) -> Array:
        """For each event the call that it belongs to, -1 where there is none."""
        events = self.process.events
        in_graph = events["kind"] == EventKind.GRAPH
        joined = self.process.call_of_step
        keys = np.fromiter(joined.keys(), np.uint64, len(joined))
        calls = np.fromiter(joined.values(), np.int64, len(joined))
        return np.where(in_graph, _look_up(keys, calls, events["step"]), events["step"].astype(np.int64))

    @cached_property
    def steps(self) -> Array:
        """For each event its training step, -1 where there is none."""
        return _look_up(*self._steps_of_calls, self.calls)

    @cached_property
    def epochs(self) -> Array:
        """For each event its epoch of a Keras model, -1 where there is none."""
        return self.process.batches.of_calls(self.calls, self.process.batches.epochs)

    @cached_property
    def batches(self) -> Array:
        """For each event its batch in that epoch, -1 where there is none."""
        return self.process.batches.of_calls(self.calls, self.process.batches.batches)

    @cached_property
    def _steps_of_calls(self) -> tuple[Array, Array]:
        calls = self.process.calls
        real = np.isin(calls["kind"], (CallKind.OP, CallKind.FUNCTION))
        return calls["call"][real].astype(np.int64), calls["step"][real]

    @property
    def recorded_steps(self) -> Array:
        """The training steps of this process, in order."""
        steps = np.unique(self._steps_of_calls[1])
        return steps[steps >= 0]

    @cached_property
    def moments(self) -> Moments:
        return Moments(self.process)

    @cached_property
    def takers(self) -> Takers:
        return Takers(self.moments, self.index)


def _look_up(keys: Array, values: Array, asked: Array) -> Array:
    """The value of each key that is asked for, -1 where there is none; of equal keys the last counts."""
    if not len(keys):
        return np.full(len(asked), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    at = np.searchsorted(keys, asked, "right") - 1
    return np.where((at >= 0) & (keys[at] == asked), values[at], -1)
