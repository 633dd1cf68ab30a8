"""Functions that are defined on some numbers only."""

from __future__ import annotations

from tensorsleuth.core.ops.numerics import DOMAINS
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset(DOMAINS)


def match(case: Case) -> Explanation | None:
    x = case.input(0)
    if case.differentiates is not None or case.op not in DOMAINS or x is None or not x.has_range:
        return None
    low, high = DOMAINS[case.op]
    name = case.op.lower()
    seen = f"{x.min:.9g} … {x.max:.9g}"
    why = f"takes {name} outside of its domain: it wants {low:g} … {high:g} and got {seen}"
    return Explanation(
        "out-of-domain", 0.9, why, f"clip what goes in: tf.clip_by_value(x, {low:g} + 1e-7, {high:g} - 1e-7)"
    )
