"""Functions that are defined on some numbers only."""

from __future__ import annotations

from tensorsleuth.core.ops.numerics import DOMAINS, INFINITE_SLOPES, SAFE_ARGUMENTS
from tensorsleuth.diagnose.graph.value_range import range_of
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset(DOMAINS)
NEAR_EDGE = 1e-6  # the slope of acos is already 700 there


def match(case: Case) -> Explanation | None:
    x = case.input(0)
    if case.differentiates in INFINITE_SLOPES:
        return _slope(case, case.differentiates)
    if case.differentiates is not None or case.op not in DOMAINS or x is None or not x.has_range:
        return None
    low, high = DOMAINS[case.op]
    name = case.op.lower()
    seen = f"{x.min:.9g} … {x.max:.9g}"
    where = "at the edge" if low <= x.min and x.max <= high else "outside"
    why = f"takes {name} {where} of its domain: it wants {low:g} … {high:g} and got {seen}"
    return Explanation(
        "out-of-domain", 0.9, why, f"clip what goes in: tf.clip_by_value(x, {low:g} + 1e-7, {high:g} - 1e-7)"
    )


def _slope(case: Case, kind: str) -> Explanation | None:
    """Match a gradient that is infinite although what went in is finite, where the argument is at the edge."""
    at_edge = _is_at_edge(case, kind)
    if at_edge is False or any(one.bad for one in case.inputs):
        return None
    name, edge = kind.lower(), INFINITE_SLOPES[kind]
    why = f"differentiates {name} at the edge of its domain ({edge}), where its slope is infinite"
    safe = SAFE_ARGUMENTS.get(kind, "tf.clip_by_value(x, -1.0 + 1e-6, 1.0 - 1e-6)")
    return Explanation("grad-domain-edge", 0.95 if at_edge else 0.75, why, f"keep the argument inside of it: {safe}")


def _is_at_edge(case: Case, kind: str) -> bool | None:
    """Return whether the argument is where the slope is infinite; None if it was not recorded.

    There a divisor of the gradient is 0, such as the root of 1 − x².
    """
    node = case.forward_node
    made = case.neighbours.input_ops(node)[:1] if node is not None and node != case.op_node else []
    argument = range_of(case.neighbours, made[0][0]) if made and made[0] else None
    at_edge = any(abs(end - edge) <= NEAR_EDGE for end in argument or () for edge in DOMAINS[kind])
    seen = [one for one in case.own_inputs if one.has_range]
    if at_edge or any(one.count("zero") for one in seen):
        return True
    return False if argument is not None or seen else None
