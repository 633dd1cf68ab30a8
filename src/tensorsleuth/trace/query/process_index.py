"""One process, indexed for queries: arrays with the op and the training step of each event."""

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
    """The tables that the queries of one process share, each built at first use."""

    def __init__(self, process: ProcessTrace, number: int) -> None:
        self.process = process
        self.number = number
        self.op_index = OpIndex(process, number)

    @cached_property
    def op_numbers(self) -> Array:
        """Return for each event the number of its op in `index.ops`, -1 if unknown."""
        return self.op_index.op_numbers(self.process.events["tensor"])

    @cached_property
    def calls(self) -> Array:
        """Return for each event its call, -1 if it has none."""
        return self.calls_of(self.process.events)

    def calls_of(self, rows: Array) -> Array:
        """Return the calls of some of the events."""
        return np.where(
            rows["kind"] == EventKind.GRAPH, self.calls_of_tf_steps(rows["step"]), rows["step"].astype(np.int64)
        )

    @cached_property
    def calls_of_tf_steps(self) -> KeyLookup:
        """Map each of TensorFlow's step ids to its call."""
        joined = self.process.call_of_tf_step
        keys = np.fromiter(joined.keys(), np.uint64, len(joined))
        return KeyLookup(keys, np.fromiter(joined.values(), np.int64, len(joined)))

    @cached_property
    def steps(self) -> Array:
        """Return for each event its training step, -1 if it has none."""
        return self.steps_of(self.calls)

    def steps_of(self, calls: Array) -> Array:
        """Return the training step of each call, -1 if it has none."""
        return self.process.steps_of_calls(calls)

    @cached_property
    def epochs(self) -> Array:
        """Return for each event its epoch of a Keras model, -1 if it has none."""
        return self.process.batches.of_calls(self.calls, self.process.batches.epochs)

    @cached_property
    def batches(self) -> Array:
        """Return for each event its batch in that epoch, -1 if it has none."""
        return self.process.batches.of_calls(self.calls, self.process.batches.batches)

    @property
    def recorded_steps(self) -> Array:
        """Return the training steps of this process, in order."""
        steps = np.unique(self.process.steps_of_calls.values)
        return steps[steps >= 0]

    @cached_property
    def call_graphs(self) -> CallGraphs:
        return CallGraphs(self.process)

    @cached_property
    def consumers(self) -> ConsumerIndex:
        return ConsumerIndex(self.call_graphs, self.op_index)
