"""tf.where hides a bad value from the result, but not from the gradient: 0 · ∞ is NaN."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import SELECTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.call_graph import constant_of

NEEDS = Need.FUNCTIONS | Need.EAGER_GRADIENTS
MAX_HOPS = 5  # ops between a tf.where and what it selects from


def match(case: Case) -> Explanation | None:
    if not case.reaches(SELECTS):
        return None
    if case.differentiates is None and not (case.spread.only_in_gradient and _is_masked(case)):
        return None
    if case.differentiates is not None and (_is_in_both_branches(case) or not _is_selected_away(case)):
        return None
    what = case.differentiates or case.op
    why = f"{what} is not finite in the branch that tf.where does not take, so its gradient is 0 · ∞ = NaN"
    return Explanation("where-trap", 0.97, why, _TWICE)


def _is_masked(case: Case) -> bool:
    """Return whether every NaN of the forward pass goes into a tf.where, and none around it."""
    spots = [case.neighbours.node_of(one) for one in case.spread.forward_ends if one.has_nan]
    return all(
        spot is not None and any(user.type in SELECTS for user in case.neighbours.consumers(spot)) for spot in spots
    )


def _is_selected_away(case: Case) -> bool:
    """Return whether the gradient that comes in is 0 where the slope is infinite, so that their product is NaN.

    It is an infinity where tf.where takes the branch. The gradient of an op consists of several ops.
    """
    own = [one for one in case.spread.reached.values() if case.differentiates_the_same(one)]
    return len(own) < 2 or any(one.has_nan for one in own)


def _is_in_both_branches(case: Case) -> bool:
    """Return whether the other branch, too, is computed by this op from the same input: one of them is taken."""
    forward = case.forward_node
    if forward is None:
        return False
    for select in case.reached(SELECTS):
        branches = [slot[0] for slot in case.neighbours.input_ops(select)[1:] if slot]
        behind = [{one, *case.neighbours.ancestors(one, MAX_HOPS)} for one in branches]
        if len(behind) == 2 and all(any(_is_same(case, one, forward) for one in some) for some in behind):
            return True
    return False


def _is_same(case: Case, one: OpNode, other: OpNode, depth: int = MAX_HOPS) -> bool:
    """Return whether two ops compute the same from the same."""
    if one == other or one.type != other.type or not depth:
        return one == other
    made = [[op for slot in case.neighbours.input_ops(node) for op in slot] for node in (one, other)]
    if len(made[0]) != len(made[1]):
        return False
    if not made[0]:
        return _numbers(case, one) == _numbers(case, other) != []
    return all(_is_same(case, a, b, depth - 1) for a, b in zip(made[0], made[1], strict=True))


def _numbers(case: Case, op_node: OpNode) -> list[tuple[float, ...]]:
    constant = constant_of(op_node.graph_node) if op_node.graph_node is not None else None
    seen = [(one.min, one.max, one.elements) for one in case.neighbours.recorded_outputs(op_node) if one.has_range]
    return [constant] if constant is not None else [*seen]


_TWICE = "make the input safe before the op as well: safe = tf.where(ok, x, 1.0); y = tf.where(ok, f(safe), 0.0)"
