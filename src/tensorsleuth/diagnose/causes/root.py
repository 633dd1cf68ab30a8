"""sqrt of a negative number, rsqrt or a negative power of zero."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case, Story


def match(case: Case) -> Story | None:
    x = case.input(0)
    if case.differentiates is not None or x is None or not x.known:
        return None
    if case.op in ("Sqrt", "Rsqrt") and x.min < 0:
        return Story(
            "sqrt-negative", 0.95, f"takes the square root of negative numbers (down to {x.min:.4g})", _NEGATIVE
        )
    if case.op == "Rsqrt" and x.count("zero"):
        return Story("rsqrt-zero", 0.95, f"takes 1/sqrt(0): {x.count('zero'):,} of what went in is 0", _RSQRT)
    if case.op == "Pow":
        return _power(case)
    return None


def _power(case: Case) -> Story | None:
    x, y = case.input(0), case.input(1)
    if x is None or y is None or not y.known:
        return None
    if x.count("zero") and y.min < 0:
        return Story(
            "divide-by-zero", 0.9, "raises 0 to a negative power", "keep the base away from 0: tf.maximum(x, 1e-7)"
        )
    if x.min < 0 and case.out.count("nan"):
        return Story("out-of-domain", 0.9, f"raises a negative number ({x.min:.4g}) to a fractional power", _POWER)
    return None


_NEGATIVE = "rounding can make a difference or variance slightly negative: tf.sqrt(tf.maximum(x, 0.0))"
_RSQRT = "add an epsilon before the root: tf.math.rsqrt(x + 1e-12)"
_POWER = "take the power of tf.abs(x), or of tf.maximum(x, 0.0)"
