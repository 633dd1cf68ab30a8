"""The factor by which attention scores are multiplied between the projections and the softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tensorsleuth.core.ops.elementwise import SCALINGS
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.core.ops.masks import MASK_ADDING_OPS
from tensorsleuth.core.ops.products import BATCH_MATMULS, LAYER_PRODUCTS
from tensorsleuth.core.ops.views import AXIS_OPS
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import ProcessShapes, einsum_letters
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph

MAX_HOPS = 16  # ops
DIVISIONS = SCALINGS - {"Mul"}


@dataclass(frozen=True)
class ScalingOp:
    """An op that multiplies by one number, or divides by it."""

    op_node: OpNode
    number: float
    factor: float  # what it multiplies by
    is_after: bool  # after the product of queries with keys


class ScoreScale:
    """The scale of one attention's scores."""

    def __init__(self, training_graph: TrainingGraph, one: AttentionOps) -> None:
        assert one.softmax.function is not None
        assert one.softmax.instance is not None
        self._training, self._attention, self._function = training_graph, one, one.softmax.function
        self._instance = one.softmax.instance
        self._shapes = training_graph.process.cached(ProcessShapes).around_op(one.softmax)

    @property
    def depth(self) -> int | None:
        """Return the number of products that a score is the sum of."""
        node = self._function.nodes[self._attention.scores.node_index]
        shape = self._shapes.shape_of(node.inputs[0][0]) or ()
        if node.type in BATCH_MATMULS:
            return shape[-2 if node.attrs.get("adj_x") else -1] if len(shape) > 1 else None
        taken, made = einsum_letters(node)
        pairs = zip(taken[0], shape, strict=False)
        summed = [size for letter, size in pairs if letter in taken[1] and letter not in made]
        return math.prod(summed) if summed and len(shape) == len(taken[0]) else None

    def scalings(self) -> list[ScalingOp] | None:
        """Return all scalings; None if something else multiplies, such as a norm or a learned temperature."""
        nodes, scores = self._function.nodes, self._attention.scores.node_index
        after = self._path(nodes[self._attention.softmax.node_index].inputs[0][0], lambda node: node == scores)
        sides = [self._path(source, self._is_projection) for source, _ in nodes[scores].inputs]
        if after is None or any(side is None for side in sides):
            return None
        found = [
            *self._scalings_on(after, True),
            *(one for side in sides for one in self._scalings_on(side or [], False)),
        ]
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def _is_projection(self, node: int) -> bool:
        spot = self._spot(node)
        return spot.type in LAYER_PRODUCTS and self._training.takes_weights(spot)

    def _path(self, node: int, is_end: Callable[[int], bool], depth: int = 0) -> list[tuple[int, int]] | None:
        """Return the nodes from here back to the end, each with the input that the path takes."""
        if node < 0 or depth > MAX_HOPS:
            return None
        if is_end(node):
            return []
        described = self._function.nodes[node]
        if described.type not in MASK_ADDING_OPS | SCALINGS | VIEWS | AXIS_OPS:
            return None
        for slot, (source, _) in enumerate(described.inputs):
            way = self._path(source, is_end, depth + 1)
            if way is not None:
                return [(node, slot), *way]
        return None

    def _scalings_on(self, way: list[tuple[int, int]], is_after: bool) -> Iterator[ScalingOp | None]:
        for node, slot in way:
            described = self._function.nodes[node]
            if described.type in SCALINGS:
                number = self._constant_number(described.inputs[1 - slot][0])
                divides = described.type in DIVISIONS
                if number is None or not math.isfinite(number) or (divides and (slot == 1 or not number)):
                    yield None
                else:
                    yield ScalingOp(self._spot(node), number, 1 / number if divides else number, is_after)

    def _constant_number(self, node: int, depth: int = 0) -> float | None:
        """Return the output of a node that is one number, computed from constants and sizes."""
        if node < 0 or depth > MAX_HOPS:
            return None
        described = self._function.nodes[node]
        if described.type == "Const":
            return _constant(described.attrs.get("value"))
        compute = _SCALAR_OPS.get(described.type)
        if compute is None:
            whole = self._shapes.integers(node)
            return float(whole[0]) if whole is not None and len(whole) == 1 else None
        given = [self._constant_number(source, depth + 1) for source, _ in described.inputs]
        known = [one for one in given if one is not None]
        try:
            return compute(*known) if len(known) == len(given) else None
        except (ArithmeticError, ValueError, TypeError):  # a root of what is negative, another count of inputs
            return None

    def _spot(self, node: int) -> OpNode:
        return OpNode(self._function.nodes[node].type, self._instance, self._function, node)


def _constant(value: object) -> float | None:
    try:
        return float(str(value[0])) if isinstance(value, (list, tuple)) and len(value) == 1 else None
    except ValueError:
        return None


_SCALAR_OPS: dict[str, Callable[..., float]] = {
    "Cast": lambda a: a,
    "Identity": lambda a: a,
    "Sqrt": math.sqrt,
    "Rsqrt": lambda a: 1 / math.sqrt(a),
    "Reciprocal": lambda a: 1 / a,
    "Mul": lambda a, b: a * b,
    "RealDiv": lambda a, b: a / b,
    "Pow": lambda a, b: float(a**b),
}
