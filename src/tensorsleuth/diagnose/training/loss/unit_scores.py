"""Scores of attention that a layer of one unit makes, [batch, time, 1], and the axis that is summed with them."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.ops.elementwise import ELEMENTWISE_FUNCTIONS, SCALINGS
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.core.ops.masks import MASK_ADDING_OPS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS, MATMULS
from tensorsleuth.core.ops.reductions import LOSS_REDUCTIONS
from tensorsleuth.core.ops.views import JOINS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import Shape
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.node_shapes import shape_of

MAX_HOPS_TO_UNIT = 8  # ops from the softmax back to the layer
SCORE_PASSES = SCALINGS | MASK_ADDING_OPS | ELEMENTWISE_FUNCTIONS | VIEWS | JOINS


def weighs_along_another_axis(training_graph: TrainingGraph, softmax: OpNode) -> bool:
    """Return whether a softmax over one unit weighs the elements of another axis, which are summed."""
    shape = shape_of(training_graph, softmax)
    if shape is None or len(shape) < 2 or shape[-1] != 1 or max(shape[:-1]) == 1:
        return False
    passed = list(_scores(training_graph, softmax))
    if not any(_is_unit(training_graph, one) for one in passed):
        return False
    is_stacked = any(one.type in JOINS and (shape_of(training_graph, one) or ())[-1:] == (1,) for one in passed)
    return is_stacked or any(_sums_another(training_graph, user, shape) for user in _users(training_graph, softmax))


def _scores(training_graph: TrainingGraph, softmax: OpNode) -> Iterator[OpNode]:
    """Yield the ops that make the scores, back to the products of layers."""
    level, seen = [softmax], {softmax}
    for _ in range(MAX_HOPS_TO_UNIT):
        sources = [one for spot in level for slot in training_graph.neighbours.input_ops(spot) for one in slot]
        new = [one for one in dict.fromkeys(sources) if one not in seen]
        yield from new
        seen.update(new)
        level = [one for one in new if one.type in SCORE_PASSES]


def _is_unit(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    """Return whether it is the product of a layer with one unit."""
    shape = shape_of(training_graph, op_node) if op_node.type in LAYER_PRODUCTS else None
    return shape is not None and shape[-1:] == (1,) and training_graph.takes_weights(op_node)


def _users(training_graph: TrainingGraph, op_node: OpNode) -> list[OpNode]:
    return training_graph.forward_consumers(op_node)


def _sums_another(training_graph: TrainingGraph, user: OpNode, weights: Shape) -> bool:
    """Return whether what the weights multiply is summed over an axis other than that of the single unit."""
    made = shape_of(training_graph, user)
    if made is None:
        return False
    if user.type in MATMULS:
        return any(size > 1 and made.count(size) < weights.count(size) for size in weights)
    if user.type != "Mul":
        return False
    sums = (one for one in _users(training_graph, user) if one.type in LOSS_REDUCTIONS)
    return any(_leaves_last(made, shape_of(training_graph, one)) for one in sums)


def _leaves_last(before: Shape, after: Shape | None) -> bool:
    """Return whether a reduction keeps the last axis, and one before it is gone."""
    if after is None or len(before) < 2 or before[-1] == 1 or not after:
        return False
    left = [size for size in after if size > 1]
    return after[-1] == before[-1] and before[-1] not in before[:-1] and len(left) < sum(size > 1 for size in before)
