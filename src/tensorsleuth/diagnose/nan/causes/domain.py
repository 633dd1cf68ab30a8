"""Functions that are defined on some numbers only."""

from __future__ import annotations

from tensorsleuth.core.ops.numerics import DOMAINS, INFINITE_SLOPES, SAFE_ARGUMENTS
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset(DOMAINS)


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
    """The gradient, computed of finite numbers: nothing but the edge of the domain makes it infinite."""
    if any(one.bad for one in case.inputs):
        return None
    name, edge = kind.lower(), INFINITE_SLOPES[kind]
    why = f"differentiates {name} at the edge of its domain ({edge}), where its slope is infinite"
    safe = SAFE_ARGUMENTS.get(kind, "tf.clip_by_value(x, -1.0 + 1e-6, 1.0 - 1e-6)")
    return Explanation("grad-domain-edge", 0.95, why, f"keep the argument inside of it: {safe}")
