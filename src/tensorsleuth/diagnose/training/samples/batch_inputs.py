"""The tensors of samples that go into a step: from a dataset or from Python, with the numbers in them by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import EagerOp, Frame
from tensorsleuth.core.layout.rows import CallKind, EventFlag
from tensorsleuth.core.ops.elementwise import DIFFERENCES
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES, INPUT_OPS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.core.ops.views import ALL_COPIES, RESHAPES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, element_counts
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.training.loss.probabilities import logits_of_losses
from tensorsleuth.diagnose.training.sampled_calls import sampled_calls
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo

MAX_CALLS = 400  # of a function or an op, evenly over the run
MIN_INPUT_SHARE = 0.1  # of the calls of an eager op, that take an input
MAX_HOPS_TO_INPUT = 6  # casts and reshapes
MAX_HOPS_TO_WEIGHTS = 40  # ops, from a prediction
COPYING_OPS = ALL_COPIES | RESHAPES


@dataclass(frozen=True)
class Numbers:
    """The numbers in one tensor at several steps, oldest first."""

    min: Array
    max: Array
    elements: Array
    zeros: Array

    def __len__(self) -> int:
        return len(self.min)

    @property
    def largest(self) -> Array:
        """Return the largest absolute value at each step."""
        largest: Array = np.maximum(np.abs(self.min), np.abs(self.max))
        return largest


@dataclass(frozen=True)
class BatchInput:
    """An input of a step, and the op that it meets the model in."""

    consumer: OpNode
    frame: Frame | None
    numbers: Numbers
    root: int  # the function that Python calls; -1 in eager code
    shape: tuple[int, ...] | None
    part: tuple[int, int] | None = None  # its place in an element of a dataset, and how many tensors that has
    source: tuple[int, int] | None = None  # the tensor and the argument of the function that it is, not in eager code


class BatchInputs:
    """The labels and the features of all training steps of a process."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self._training = process.cached(TrainingGraph)
        self._graphs = self._training.call_graphs

    @cached_property
    def labels(self) -> list[BatchInput]:
        """Return the inputs that a loss compares with predictions."""
        return [*self._graph_labels(), *self._eager_inputs(CROSS_ENTROPIES | DIFFERENCES, (1,))]

    @cached_property
    def features(self) -> list[BatchInput]:
        """Return the inputs that the weights of a first layer multiply."""
        spots = (spot for spot in self._training.forward_ops(LAYER_PRODUCTS) if self._training.takes_weights(spot))
        found = [one for spot in spots for one in self._inputs_of(spot, (0, 1))]
        return [*found, *self._eager_inputs(LAYER_PRODUCTS, (0, 1))]

    # ---- functions

    def _graph_labels(self) -> Iterator[BatchInput]:
        for spot in self._training.forward_ops(CROSS_ENTROPIES):
            yield from self._inputs_of(spot, (1,))
        for spot in self._training.forward_ops(DIFFERENCES):
            if self._training.is_differentiated(spot):
                yield from (
                    one
                    for slot in (0, 1)
                    for one in self._inputs_of(spot, (slot,))
                    if self._is_predicted(spot, 1 - slot)
                )
        logits = {op for _, op in logits_of_losses(self._training)}
        for spot in self._training.forward_ops(("Mul",)):
            sources = self._training.neighbours.input_ops(spot)
            for slot in (0, 1) if len(sources) == 2 else ():
                if any(one.type == "Log" or one in logits for one in sources[1 - slot]):
                    yield from self._inputs_of(spot, (slot,))

    def _is_predicted(self, op_node: OpNode, slot: int) -> bool:
        """Return whether weights take part in an operand."""
        sources = self._training.neighbours.input_ops(op_node)
        return any(self._training.weights_of(one, MAX_HOPS_TO_WEIGHTS) for one in sources[slot])

    def _inputs_of(self, op_node: OpNode, slots: tuple[int, ...]) -> Iterator[BatchInput]:
        for slot in slots:
            found = self._input_behind(op_node, slot)
            numbers = self._numbers(op_node, *found) if found is not None else None
            if found is not None and numbers is not None and len(numbers[0]):
                root, part = self._training.root_id(op_node), self._part(op_node, *found)
                yield BatchInput(op_node, self._training.frame(op_node), numbers[0], root, numbers[1], part, found)

    def _input_behind(self, op_node: OpNode, slot: int) -> tuple[int, int] | None:
        """Return the tensor and the argument behind an input of an op, unchanged but for its type and shape."""
        flow = self._graphs.flow
        for _ in range(MAX_HOPS_TO_INPUT):
            if op_node.instance is None:
                return None
            slots = flow.input_sources(op_node.instance, op_node.node_index)
            if slot >= len(slots) or len(slots[slot]) != 1:
                return None
            (source,) = slots[slot]
            tensor = self._process.tensor(source.tensor)
            if source.argument >= 0:
                return None if self._is_captured(op_node, source.argument) else (source.tensor, source.argument)
            if tensor is None or tensor.node is None or tensor.function is None:
                return None
            if tensor.type in INPUT_OPS:
                return source.tensor, -1
            if tensor.type not in COPYING_OPS:
                return None
            op_node, slot = (
                OpNode(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node)),
                0,
            )
        return None

    def _is_captured(self, op_node: OpNode, argument: int) -> bool:
        catalogue = self._process.catalogue
        root = catalogue.instances[self._training.root_id(op_node)]
        return argument in catalogue.functions[root.function].captures

    def _numbers(self, op_node: OpNode, tensor: int, argument: int) -> tuple[Numbers, tuple[int, ...] | None] | None:
        events = self._process.events
        rows = events[events["tensor"] == tensor]
        if not len(rows) and argument >= 0:
            rows = self._rows_of(self._passed(self._training.root_id(op_node), argument))
        rows = rows[rows["flags"] & EventFlag.RANGED != 0]
        if len(rows):
            return _of_rows(rows), self._process.shape_of(rows[0])
        series = self._process.cached(ModelInputs).series_by_tensor.get(tensor)
        if series is None or not len(series):
            return None
        return _of_series(series.rows), series.shape()

    def _passed(self, root: int, argument: int) -> list[int]:
        """Return the uids that Python passed as an argument of a function."""
        ops = [op.id for op in self._process.catalogue.eager.values() if op.instance == root]
        uids = (self._graphs.calls.inputs(call) for call in self._calls_of(ops, CallKind.FUNCTION))
        return [passed[argument] for passed in uids if argument < len(passed)]

    def _part(self, op_node: OpNode, number: int, argument: int) -> tuple[int, int] | None:
        if argument < 0:
            return _part_of_element(self._process.tensor(number))
        passed = self._passed(self._training.root_id(op_node), argument)
        made = self._graphs.by_uid(passed[0]) if passed else None
        return _part_of_element(made.tensor) if made is not None else None

    # ---- eager code

    def _eager_inputs(self, types: frozenset[str], slots: tuple[int, ...]) -> Iterator[BatchInput]:
        eager = self._process.catalogue.eager
        differentiated = {op.forward for op in eager.values() if op.forward > 0}
        for op in eager.values():
            if op.type in types and op.id in differentiated:
                yield from self._inputs_of_eager(op, (0, 1) if op.type in DIFFERENCES else slots)

    def _inputs_of_eager(self, op: EagerOp, slots: tuple[int, ...]) -> Iterator[BatchInput]:
        calls = self._calls_of([op.id], CallKind.OP)
        site = self._process.catalogue.sites.get(op.site)
        for slot in slots:
            taken = [self._graphs.calls.inputs(call) for call in calls]
            seen = [self._source(passed[slot]) for passed in taken if slot < len(passed)]
            fed = [one for one in seen if one is not None and one.op in EXTERNAL_SOURCES and one.has_range]
            rows = [one.row for one in fed]
            if len(rows) > MIN_INPUT_SHARE * len(calls):  # all layers of one line are one op
                array = np.array(rows, dtype=self._process.events.dtype)
                frame = site.frame if site is not None else None
                consumer, shape = OpNode(op.type, call=calls[0]), self._process.shape_of(rows[0])
                yield BatchInput(consumer, frame, _of_rows(array), -1, shape, _part_of_element(fed[0].tensor))

    def _source(self, uid: int) -> ObservedTensor | None:
        found = self._graphs.by_uid(uid)
        for _ in range(MAX_HOPS_TO_INPUT):
            if found is None or found.op not in COPYING_OPS:
                return found
            inputs = self._graphs.calls.inputs(found.call)
            found = self._graphs.by_uid(inputs[0]) if inputs else None
        return None

    def _calls_of(self, ops: list[int], kind: CallKind) -> list[int]:
        return sampled_calls(self._process, ops, kind, MAX_CALLS)

    def _rows_of(self, uids: list[int]) -> Array:
        places = [place for uid in uids if (place := self._graphs.calls.event_of(uid)) is not None]
        rows: Array = self._process.events[np.array(places, np.int64)]
        return rows


def _part_of_element(tensor_info: TensorInfo | None) -> tuple[int, int] | None:
    """Return which of the tensors of a dataset's element it is, and how many there are."""
    if tensor_info is None or tensor_info.type not in INPUT_OPS:
        return None
    count = tensor_info.eager.outputs if tensor_info.eager is not None else 0
    count = len(tensor_info.node.dtypes) if tensor_info.node is not None else count
    return tensor_info.output, count


def _of_rows(rows: Array) -> Numbers:
    return Numbers(rows["min"], rows["max"], element_counts(rows), rows["zero"])


def _of_series(rows: Array) -> Numbers:
    return Numbers(rows["min"], rows["max"], rows["elements"], rows["zero"])
