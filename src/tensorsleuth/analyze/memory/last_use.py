"""When a tensor inside a function is released: when the last op that takes it has run.

No row records this, but rows record the ends of ops. Each op that takes the tensor and has a recorded output marks
an end. An op without a row (fused, or of integers) ended before the first of its consumers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.gradients import CONTAINER_PREFIXES
from tensorsleuth.core.ops.kinds import writes_variables
from tensorsleuth.trace.dataflow.value_flow import ValueSource
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex

MAX_DEPTH = 40  # ops without rows to follow

EndMarks = tuple[frozenset[int], ...]  # the last of these sets, each with its earliest tensor


@dataclass(frozen=True, slots=True)
class LastUse:
    """The end of a tensor: the latest of the marks, each the earliest of some tensors, or the end of the call."""

    marks: EndMarks = ()
    with_call: bool = False
    assigned: tuple[int, ...] = ()  # arguments of the called function: the variables that keep the tensor


class LastUses:
    """Finds the ends in the recorded graph of one process."""

    def __init__(self, process_index: ProcessIndex) -> None:
        self._process_index = process_index
        self._flow = process_index.call_graphs.flow
        self._catalogue = process_index.process.catalogue
        self._known: dict[int, LastUse] = {}
        self._later: dict[tuple[int, int], EndMarks] = {}  # by instance and node

    @cached_property
    def _seen(self) -> set[int]:
        events = self._process_index.process.events
        return set(np.unique(events["tensor"][events["kind"] == EventKind.GRAPH]).tolist())

    @cached_property
    def _returned(self) -> set[int]:
        """The results that functions return to Python or to a dataset."""
        roots = [instance for instance, _ in self._catalogue.called_functions() if instance.parent < 0]
        return {
            source.tensor
            for instance in roots
            for output in range(len(self._catalogue.functions[instance.function].returns))
            for source in self._flow.output_sources(instance, output)
        }

    def last_use(self, tensor: int) -> LastUse:
        """Return the end of a tensor by its id, which is the same each time the tensor is computed."""
        if tensor not in self._known:
            self._known[tensor] = self._find(tensor)
        return self._known[tensor]

    def _find(self, tensor: int) -> LastUse:
        takers = self._process_index.consumers.node_consumers(tensor)
        keeps = tensor in self._returned or any(op.type.startswith(CONTAINER_PREFIXES) for op in takers)
        assigned = {at for op in takers if op.type == "AssignVariableOp" for at in self._handles(op)}
        marks = {mark for op in takers for mark in self._marks_of_run(op, 0)}
        return LastUse(tuple(marks), keeps, tuple(sorted(assigned)))

    def sources(self, tensor: int) -> list[int]:
        """Return the sources of a tensor, as far as they were recorded."""
        described = self._process_index.process.tensor(tensor)
        op = self._process_index.op_index.op_of(described) if described is not None else None
        return [one for mark in self._ready(op) for one in mark] if op is not None and op.node >= 0 else []

    def _handles(self, op: Op) -> list[int]:
        """Return the arguments of the called function that are variables written by an op."""
        slots = self._slots(op)
        return [source.argument for source in slots[0] if source.argument >= 0] if slots else []

    def _slots(self, op: Op) -> list[list[ValueSource]]:
        instance = self._catalogue.instances.get(op.instance)
        return self._flow.input_sources(instance, op.node) if instance is not None else []

    def _marks_of_run(self, op: Op, depth: int) -> EndMarks:
        """Return the marks that show that an op has run."""
        outputs = range(op.first_tensor, op.first_tensor + op.outputs)
        seen = [tensor for tensor in outputs if tensor in self._seen]
        if seen:
            return (frozenset(seen[:1]),)
        if depth > MAX_DEPTH or writes_variables(op.type):
            return self._ready(op)
        key = op.instance, op.node
        if key not in self._later:  # only once: in a step that was cut short, most ops have no row
            self._later[key] = self._ready(op)  # placeholder during the search: ops in a loop follow each other
            self._later[key] = self._shown_later(op, outputs, depth)
        return self._later[key]

    def _shown_later(self, op: Op, outputs: range, depth: int) -> EndMarks:
        """Return the first consumer of an op without a row."""
        later = [
            mark
            for tensor in outputs
            for taker in self._process_index.consumers.node_consumers(tensor)
            for mark in self._marks_of_run(taker, depth + 1)
        ]
        return (frozenset().union(*later),) if later else self._ready(op)

    def _ready(self, op: Op) -> EndMarks:
        """Return the inputs of an op without recorded consumers: it runs as soon as the last of them is computed."""
        sources = {source.tensor for slot in self._slots(op) for source in slot}
        return tuple(frozenset([tensor]) for tensor in sources if tensor in self._seen)
