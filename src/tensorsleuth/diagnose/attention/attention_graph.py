"""Recognize attention in a graph: a product of data with data, a softmax, and a product of the weights with data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tensorsleuth.core.catalog import Frame, Node
from tensorsleuth.core.ops.elementwise import SCALINGS
from tensorsleuth.core.ops.masks import MASK_ADDING_OPS
from tensorsleuth.core.ops.products import BATCH_PRODUCTS
from tensorsleuth.core.ops.views import FORWARDS, PARTS
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.series.attention import AttentionSeries

MAX_HOPS_TO_SOFTMAX = 12  # ops
MAX_SAMPLES = 8
UNKNOWN_AXIS = 0  # in the place of an axis, which is counted from the end: it is not known any more


class WeightedSum(NamedTuple):
    """A product that takes the weights of an attention; axes of these are counted from the end."""

    op_node: OpNode
    weights_slot: int  # the operand that holds the weights
    softmax_axis: int  # the axis along which weights sum to one
    summed_axis: int  # the axis that it sums over
    query_axis: int  # the axis that is only the weights', and stays

    @property
    def sums_over_keys(self) -> bool:
        """Return whether it may sum over the axis of the softmax; a merged axis may contain it."""
        return self.softmax_axis in (self.summed_axis, UNKNOWN_AXIS)


@dataclass(frozen=True)
class AttentionOps:
    """One softmax, with the scores before it and the weighted sums after it."""

    softmax: OpNode
    scores: OpNode  # the product before it
    types_between: frozenset[str]  # types of the ops between them
    weighted_sums: tuple[WeightedSum, ...]  # that take its weights

    @property
    def name(self) -> str:
        """Return the name of the op that computes the weights."""
        return self.softmax.graph_node.name if self.softmax.graph_node is not None else ""


def find_attention(training_graph: TrainingGraph) -> Iterator[AttentionOps]:
    """Yield all attention in the functions that train."""
    for softmax in training_graph.forward_ops(("Softmax",)):
        scores, passed = _scores(training_graph, softmax)
        products = tuple(_weighted_sums(training_graph, softmax)) if scores is not None else ()
        if scores is not None and products:
            yield AttentionOps(softmax, scores, frozenset(passed), products)


def find_in_graph(training_graph: TrainingGraph, seen: AttentionSeries) -> AttentionOps | None:
    """Return the recorded attention as it is in the graph; None if only a replay showed it."""
    named = ((one, one.softmax.graph_node) for one in find_attention(training_graph))
    return next((one for one, node in named if node is not None and node.name == seen.op), None)


def sample_indexes(seen: AttentionSeries) -> list[int]:
    """Return the indexes of a few samples, first and last included, to bound memory."""
    return sorted({round(at) for at in np.linspace(0, len(seen) - 1, MAX_SAMPLES)}) if len(seen) else []


def attention_line(training_graph: TrainingGraph, seen: AttentionSeries) -> Frame | None:
    """The user's line of an attention."""
    one = find_in_graph(training_graph, seen)
    frame = training_graph.frame(one.softmax) if one is not None else None
    return frame or (Frame(seen.file, seen.line, "") if seen.file and seen.line else None)


def is_scaled(training_graph: TrainingGraph, scores: OpNode) -> bool:
    """Return whether queries or keys are multiplied, divided or normalized between projection and scores."""
    level, seen = [scores], {scores}
    for _ in range(MAX_HOPS_TO_SOFTMAX):
        sources = {one for spot in level for slot in training_graph.neighbours.input_ops(spot) for one in slot} - seen
        if any(one.type not in MASK_ADDING_OPS | PARTS and not _is_projection(training_graph, one) for one in sources):
            return True
        seen |= sources
        level = [one for one in sources if one.type in MASK_ADDING_OPS | PARTS]
    return False


def _is_projection(training_graph: TrainingGraph, op_node: OpNode) -> bool:
    return op_node.type == "Const" or op_node.type == "ReadVariableOp" or training_graph.takes_weights(op_node)


def _scores(training_graph: TrainingGraph, softmax: OpNode) -> tuple[OpNode | None, set[str]]:
    """Return the product of data with data that the softmax takes, and the ops in between."""
    level, passed = [softmax], set[str]()
    for _ in range(MAX_HOPS_TO_SOFTMAX):
        sources = [one for spot in level for slot in training_graph.neighbours.input_ops(spot) for one in slot]
        found = next(
            (one for one in sources if one.type in BATCH_PRODUCTS and not training_graph.takes_weights(one)), None
        )
        if found is not None:
            return found, passed
        level = [one for one in sources if one.type in MASK_ADDING_OPS | SCALINGS]
        passed |= {one.type for one in level}
    return None, passed


def _weighted_sums(training_graph: TrainingGraph, softmax: OpNode) -> Iterator[WeightedSum]:
    """Yield the products that consume the weights, through transposes, casts and dropout."""
    function = softmax.function
    assert function is not None
    level = [(softmax.node_index, -1)]  # a node, and which of its axes sums to one, counted from the end
    for _ in range(MAX_HOPS_TO_SOFTMAX):
        following = []
        for source, axis in level:
            for number in training_graph.call_graphs.flow.consumers(function, source):
                user = OpNode(function.nodes[number].type, softmax.instance, function, number)
                slot = [at for at, _ in function.nodes[number].inputs].index(source)
                if user.is_gradient:
                    continue
                if user.type in BATCH_PRODUCTS and not training_graph.takes_weights(user):
                    yield WeightedSum(user, slot, axis, *_product_axes(function.nodes[number], slot, axis))
                moved = _axis_after(user, axis)
                following += [(number, moved)] if moved is not None else []
        level = following


def _axis_after(user: OpNode, axis: int) -> int | None:
    """Return the axis in an op's output; None if the op does not pass weights on."""
    assert user.function is not None
    node = user.function.nodes[user.node_index]
    if node.type == "Reshape" or axis == UNKNOWN_AXIS:
        return UNKNOWN_AXIS if node.type in ("Reshape", "Transpose") or _keeps_axes(node) else None
    return axis if _keeps_axes(node) else _transposed_axis(fold_constants(user.function, _transpose_order(user)), axis)


def _keeps_axes(node: Node) -> bool:
    """Return whether the op keeps the axes. Keras's Softmax also selects after it, to zero fully masked rows."""
    picks = node.type in ("SelectV2", "Select")
    return picks or node.type in FORWARDS or (node.type in ("Mul", "RealDiv") and "dropout" in node.name.lower())


def _transpose_order(op_node: OpNode) -> int:
    """Return the node that holds the permutation of a transpose; -1 if the op is no transpose."""
    node = op_node.graph_node
    return node.inputs[1][0] if node is not None and node.type == "Transpose" else -1


def _transposed_axis(order: list[int] | None, axis: int) -> int | None:
    if order is None or sorted(order) != list(range(len(order))) or -axis > len(order):
        return None
    return order.index(axis + len(order)) - len(order)


def _product_axes(node: Node, slot: int, axis: int) -> tuple[int, int]:
    """Return two axes of the operand that holds the weights: the summed one, and the one that only they have."""
    if node.type != "Einsum":
        turned = node.attrs.get("adj_x" if slot == 0 else "adj_y") is True
        return (-1, -2) if (slot == 0) != turned else (-2, -1)
    operands, _, result = str(node.attrs.get("equation", "")).replace("...", "").partition("->")
    names = operands.split(",")
    letters, others = (names[slot], names[1 - slot]) if len(names) == 2 else ("", "")
    summed = [at - len(letters) for at, letter in enumerate(letters) if letter not in result]
    alone = [at - len(letters) for at, letter in enumerate(letters) if letter in result and letter not in others]
    # What dots stand for is not told apart: the softmax is then taken to be right.
    right = axis if axis in summed or -axis > len(letters) or not summed else summed[-1]
    return right, alone[-1] if alone else 0
