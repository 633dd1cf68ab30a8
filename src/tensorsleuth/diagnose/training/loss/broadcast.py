"""[N, 1] meets [N] in a loss or a metric: each prediction is compared with every label, in [N, N]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.elementwise import OPERATOR_WORDS
from tensorsleuth.core.ops.views import AXIS_ADDING_OPS, AXIS_REMOVING_OPS, NON_DATA_OPS
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode
from tensorsleuth.diagnose.graph.operands import Operand, first_outputs, operands, operands_of_call, operands_of_node
from tensorsleuth.diagnose.graph.shapes import ProcessShapes
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.diagnose.training.loss.scalar_end import ScalarEnd
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo

CAST, MAX_CALLS_BACK = (
    "Cast",
    3,
)  # whether a comparison holds is not looked at: what it is cast to is, a few calls later
NEARBY_LINES = 5  # lines


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    told: set[Frame | None] = set()
    for spread in _square_broadcasts(process):
        if spread.frame not in told and spread.is_accident:
            told.add(spread.frame)
            yield spread.finding


RULE = Rule(id="accidental-broadcast", severity=Severity.WRONG, find=find)


def _square_broadcasts(process: ProcessTrace) -> Iterator[SquareBroadcast]:
    """Yield the first [N, N] output of each op with two operands."""
    squares = [number for number, shape in enumerate(process.shapes) if len(shape) == 2 and 1 < shape[0] == shape[1]]
    if not squares:
        return
    rows = process.early_events()
    rows = rows[np.isin(rows["shape"], squares)]
    known = set(rows["tensor"].tolist())
    call_graphs = CallGraphs(process)
    computed = first_outputs(call_graphs, rows, {*OPERATOR_WORDS, CAST})
    for one in chain(computed, _left_out_by_optimizer(process, rows, known)):
        if not _takes_one_of(one.tensor, known):
            yield SquareBroadcast(call_graphs, one)


def _left_out_by_optimizer(process: ProcessTrace, rows: Array, known: set[int]) -> Iterator[ObservedTensor]:
    """Yield ops of a loss that nothing returns, so that only their gradients are computed, in the same shape."""
    for row in rows[np.unique(rows["tensor"], return_index=True)[1]]:
        gradient = process.tensor(int(row["tensor"]))
        number = _differentiated(gradient) if gradient is not None else None
        tensor = process.tensor(number) if number is not None and number not in known else None
        call = process.call_of(row) if tensor is not None else None
        if tensor is not None and call is not None:
            known.add(number or 0)
            yield ObservedTensor(process, tensor, row, call=call)


def _differentiated(gradient: TensorInfo) -> int | None:
    """Return the tensor of the comparison that a gradient op of the same function differentiates."""
    function, instance, node = gradient.function, gradient.instance, gradient.node
    if function is None or instance is None or node is None or node.forward is None:
        return None
    if node.forward.type not in OPERATOR_WORDS or node.forward.graph != function.graph:
        return None
    forward = next((one for one in function.nodes if one.name == node.forward.name), None)
    return instance.first_tensor + forward.first_output if forward is not None else None


def _takes_one_of(tensor_info: TensorInfo, squares: set[int]) -> bool:
    """Return whether an operand was [N, N] already, mostly square weights."""
    function, instance, node = tensor_info.function, tensor_info.instance, tensor_info.node
    if function is None or instance is None or node is None:
        return False
    made = [(function.nodes[at], output) for at, output in node.inputs if at >= 0]
    return any(instance.first_tensor + before.first_output + output in squares for before, output in made)


class SquareBroadcast:
    """An op that made [N, N]."""

    def __init__(self, call_graphs: CallGraphs, out: ObservedTensor) -> None:
        self.out = out
        self._call_graphs = call_graphs
        self._neighbours = Neighbours(call_graphs)
        self._side = (out.shape or (0,))[0]

    @cached_property
    def _comparison(self) -> tuple[str, Site | None, list[Operand]] | None:
        """Return the comparison before a cast: its type, its line and its operands."""
        sites, function, node = (
            self._call_graphs.process.catalogue.sites,
            self.out.tensor.function,
            self.out.tensor.node,
        )
        if function is not None and node is not None:
            before = function.nodes[node.inputs[0][0]] if node.inputs and node.inputs[0][0] >= 0 else None
            if before is None or before.type not in OPERATOR_WORDS:
                return None
            return before.type, sites.get(before.site), operands_of_node(self._call_graphs, self.out, before)
        for call in range(self.out.call - 1, self.out.call - 1 - MAX_CALLS_BACK, -1):
            op = self._call_graphs.calls.op(call)
            if op is not None and op.type in OPERATOR_WORDS and not len(self._call_graphs.of_call(call).event_numbers):
                return op.type, sites.get(op.site), operands_of_call(self._call_graphs, call)
        return None

    @property
    def _op(self) -> str:
        return self._comparison[0] if self.out.op == CAST and self._comparison is not None else self.out.op

    @property
    def frame(self) -> Frame | None:
        site = self._comparison[1] if self.out.op == CAST and self._comparison is not None else self.out.tensor.site
        return site.frame if site is not None else None

    @property
    def is_accident(self) -> bool:
        """Return whether it is an unintended column and row, all of whose results are summed."""
        if len(self.operands) != 2 or any(one.type in NON_DATA_OPS for one in self.operands):
            return False
        column = [one for one in self.operands if one.shape == (self._side, 1)]
        row = [one for one in self.operands if one.shape in ((self._side,), (1, self._side))]
        if len(column) != 1 or len(row) != 1 or any(self._is_intended(one) for one in (*column, *row)):
            return False
        return self._spot is not None and ScalarEnd(self._call_graphs, self._spot, self.out).is_reached

    @cached_property
    def _spot(self) -> OpNode | None:
        return self._neighbours.node_of(self.out)

    def _is_intended(self, one: Operand) -> bool:
        """Return whether the program added the axis of length one for this broadcast."""
        if one.type in AXIS_ADDING_OPS:
            return True
        return one.type in AXIS_REMOVING_OPS and one.shape is not None and len(one.shape) == 2 and self._is_near(one)

    def _is_near(self, one: Operand) -> bool:
        """Return whether two lines are a few lines apart: data prepared elsewhere was not prepared for this."""
        here, there = self.frame, one.frame
        return (
            here is not None
            and there is not None
            and here.file == there.file
            and abs(here.line - there.line) <= NEARBY_LINES
        )

    @cached_property
    def operands(self) -> list[Operand]:
        compared = self._comparison[2] if self.out.op == CAST and self._comparison is not None else None
        return [self._with_shape(one) for one in compared or self._inferred_operands()]

    def _with_shape(self, one: Operand) -> Operand:
        """Return the operand with its shape: a view has no row in a graph."""
        return replace(one, shape=(self._side,)) if one.shape is None and one.type == "Squeeze" else one

    def _inferred_operands(self) -> list[Operand]:
        """Return the operands; for those that were not computed, with the shape that follows from their inputs."""
        found, spot = operands(self._call_graphs, self.out), self._spot
        if spot is None or spot.graph_node is None or all(one.shape is not None for one in found):
            return found
        shapes = ProcessShapes(self._call_graphs.process).around_op(spot)
        sources = [source for source, _ in spot.graph_node.inputs]
        return [
            one if one.shape is not None else replace(one, shape=shapes.shape_of(source))
            for one, source in zip(found, sources, strict=False)
        ]

    # ---- in words

    @property
    def finding(self) -> RuleFinding:
        shapes = [list(one.shape or ()) for one in self.operands]
        n, op = self._side, self._op
        why = (
            f"computes {shapes[0]} {OPERATOR_WORDS[op]} {shapes[1]}, which is [{n}, {n}]: each prediction is "
            "compared with "
            f"every label, not with its own. The loss or metric of it is wrong, though nothing fails, and takes {n:,} "
            "times the memory"
        )
        step = self._call_graphs.calls.step(self.out.call)
        return RuleFinding(
            confidence=0.93,
            why=why,
            fix=_SAME_SHAPE,
            frame=self.frame,
            op=op,
            step=step,
            evidence=tuple(self._evidence()),
        )

    def _evidence(self) -> Iterator[Evidence]:
        for one in self.operands:
            line = f"{one.frame.file}:{one.frame.line}" if one.frame is not None else None
            dtype = one.observed.dtype if one.observed is not None else ""
            yield Evidence("in", one.type, one.type, dtype, one.shape, "", line)
        yield Evidence("out", self.out.tensor.name, self.out.op, self.out.dtype, self.out.shape, "")


_SAME_SHAPE = (
    "give both the same shape: tf.squeeze(prediction, axis=-1), or label[:, tf.newaxis]; where all pairs are meant, "
    "say so with tf.newaxis on both"
)
