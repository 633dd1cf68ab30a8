"""The reduction of the losses of all positions to one number: a plain sum, or a weighted or masked one."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tensorsleuth.core.ops.reductions import COUNTED_LABEL_TESTS, LOSS_REDUCTIONS
from tensorsleuth.core.ops.views import SIZE_OPS
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode

MAX_HOPS_TO_SUM = 4  # ops


def is_unweighted_sum(
    neighbours: Neighbours,
    loss: OpNode,
    but_ignored: bool = False,
    even: Set[OpNode] = frozenset(),
    depth: int = MAX_HOPS_TO_SUM,
) -> bool:
    """Return whether the losses of all positions are summed without weights or a mask.

    `but_ignored`: nothing other than whether a label counts at all. `even`: products that weigh all positions alike.
    """
    users = _loss_consumers(neighbours, loss)
    return bool(users) and all(
        user.type in LOSS_REDUCTIONS or (depth > 0 and _is_scaled_sum(neighbours, user, but_ignored, even, depth))
        for user in users
    )


def loss_products(
    neighbours: Neighbours, losses: OpNode, depth: int = MAX_HOPS_TO_SUM
) -> Iterator[tuple[OpNode, OpNode]]:
    """Yield the factors of losses before the sum, with what they multiply."""
    for user in _loss_consumers(neighbours, losses):
        if user.type == "Mul" and depth > 0:
            yield losses, user
            yield from loss_products(neighbours, user, depth - 1)


def summing_op(neighbours: Neighbours, loss: OpNode) -> OpNode:
    """Return the op that sums them; the loss itself if there is none."""
    level = [loss]
    for _ in range(MAX_HOPS_TO_SUM):
        level = [user for one in level for user in _loss_consumers(neighbours, one)]
        found = next((user for user in level if user.type in LOSS_REDUCTIONS), None)
        if found is not None:
            return found
    return loss


def _is_scaled_sum(neighbours: Neighbours, user: OpNode, but_ignored: bool, even: Set[OpNode], depth: int) -> bool:
    """Return whether one number scales the losses before the sum: without weights, Keras 2 takes 1."""
    sources = [one for slot in neighbours.input_ops(user) for one in slot]
    scaled = any(
        _is_constant_scalar(one) or (but_ignored and _marks_ignored_labels(neighbours, one)) for one in sources
    )
    scaled = scaled or user in even
    return user.type == "Mul" and scaled and is_unweighted_sum(neighbours, user, but_ignored, even, depth - 1)


def _marks_ignored_labels(neighbours: Neighbours, weights: OpNode) -> bool:
    """Return whether it is 1 where a label counts, else 0."""
    compared = [one for slot in neighbours.input_ops(weights) for one in slot]
    if weights.type != "Cast" or len(compared) != 1 or compared[0].type not in COUNTED_LABEL_TESTS:
        return False
    sides = [one for slot in neighbours.input_ops(compared[0]) for one in slot]
    return any(_is_constant_scalar(one, COUNTED_LABEL_TESTS[compared[0].type]) for one in sides)


def _is_constant_scalar(op_node: OpNode, value: str | None = None) -> bool:
    """Return whether it is one constant number, and this one."""
    node = op_node.graph_node
    if node is None or node.type != "Const" or node.attrs.get("shape") != []:
        return False
    return value is None or node.attrs.get("value") == [value]


def _loss_consumers(neighbours: Neighbours, op_node: OpNode) -> list[OpNode]:
    return [user for user in neighbours.consumers(op_node) if user.type not in SIZE_OPS and not user.is_gradient]
