"""One process, made ready for questions: for each event its op and its training step, all as arrays."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.process.key_lookup import KeyLookup
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.consumers import ConsumerIndex
from tensorsleuth.trace.query.ops import OpIndex


class ProcessIndex:
    """The tables that queries of one process share. Each is built when it is first needed."""

    def __init__(self, process: ProcessTrace, number: int) -> None:
        self.process = process
        self.number = number
        self.op_index = OpIndex(process, number)

    @cached_property
    def op_numbers(self) -> Array:
        """For each event the number in `index.ops` of its op, -1 where it is not known."""
        return self.op_index.op_numbers(self.process.events["tensor"])

    @cached_property
    def calls(self) -> Array:
        """For each event the call that it belongs to, -1 where there is none."""
        return self.calls_of(self.process.events)

    def calls_of(self, rows: Array) -> Array:
        """Return the calls of some of the events."""
        return np.where(
            rows["kind"] == EventKind.GRAPH, self.calls_of_tf_steps(rows["step"]), rows["step"].astype(np.int64)
        )

    @cached_property
    def calls_of_tf_steps(self) -> KeyLookup:
        """TensorFlow's step id -> the call that it ran for."""
        joined = self.process.call_of_tf_step
        keys = np.fromiter(joined.keys(), np.uint64, len(joined))
        return KeyLookup(keys, np.fromiter(joined.values(), np.int64, len(joined)))

    @cached_property
    def steps(self) -> Array:
        """For each event its training step, -1 where there is none."""
        return self.steps_of(self.calls)

    def steps_of(self, calls: Array) -> Array:
        """The training step of each call, -1 where there is none."""
        return self.process.steps_of_calls(calls)

    @cached_property
    def epochs(self) -> Array:
        """For each event its epoch of a Keras model, -1 where there is none."""
        return self.process.batches.of_calls(self.calls, self.process.batches.epochs)

    @cached_property
    def batches(self) -> Array:
        """For each event its batch in that epoch, -1 where there is none."""
        return self.process.batches.of_calls(self.calls, self.process.batches.batches)

    @property
    def recorded_steps(self) -> Array:
        """The training steps of this process, in order."""
        steps = np.unique(self.process.steps_of_calls.values)
        return steps[steps >= 0]

    @cached_property
    def call_graphs(self) -> CallGraphs:
        return CallGraphs(self.process)

    @cached_property
    def consumers(self) -> ConsumerIndex:
        return ConsumerIndex(self.call_graphs, self.op_index)
