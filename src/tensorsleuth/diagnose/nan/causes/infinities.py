"""∞ − ∞, 0 · ∞, and a softmax over only −∞: a NaN computed from intended infinities."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES
from tensorsleuth.core.ops.products import ZERO_TIMES_INFINITY_OPS
from tensorsleuth.core.ops.reductions import INFINITY_MINUS_INFINITY_OPS, SOFTMAXES
from tensorsleuth.diagnose.nan.case import Case, Explanation


def match(case: Case) -> Explanation | None:
    if not case.origin.from_infinity or not case.out.has_nan:
        return None
    if case.op in SOFTMAXES or _is_softmax_by_hand(case):
        return _masked_row(case)
    if (constant := _half_constant(case)) is not None:
        return constant
    data = next((one for one in case.inputs if one.bad and one.op in EXTERNAL_SOURCES and one.elements > 1), None)
    if case.op in INFINITY_MINUS_INFINITY_OPS:
        return Explanation("inf-minus-inf", 0.9, "subtracts an infinity from an infinity, which is NaN", _DIFFERENCE)
    if case.op in ZERO_TIMES_INFINITY_OPS and not (data is not None and case.op != "Mul"):
        return Explanation("zero-times-inf", 0.9, "multiplies 0 by an infinity, which is NaN", _PRODUCT)
    return None


def _half_constant(case: Case) -> Explanation | None:
    """Match a constant that half precision cannot hold: it became an infinity."""
    infinite = [
        one for one in case.inputs if one.bad and one.is_half and (one.constant is not None or one.elements == 1)
    ]
    if not infinite or "inf" in case.code.lower():
        return None
    why = f"uses a number that {infinite[0].dtype} cannot hold: it became an infinity, and 0 · ∞ or ∞ − ∞ is NaN"
    return Explanation("half-overflow", 0.93, why, _SMALLER)


def _masked_row(case: Case) -> Explanation:
    shape = case.out.shape
    width = shape[-1] if shape else 1
    rows = max(case.out.count("nan") // max(width, 1), 1)
    counted = f"{rows:,} row{'s' if rows > 1 else ''}"
    why = f"takes a softmax over {counted} with nothing but −∞: every position was masked, and nothing is left to weigh"
    return Explanation("masked-row", 0.93, why, _ROW)


def _is_softmax_by_hand(case: Case) -> bool:
    """Return whether it is x − max(x) of only −∞, on the way to exp."""
    return case.op == "Sub" and case.before("Max", depth=1) is not None and case.leads_to("Exp")


_SMALLER = "use a number that fits (tf.float16.min is -65504), or tf.where(mask, value, …) in float32"
_ROW = "mask with a large finite number (-1e9) instead of −∞, or keep at least one position in each row"
_DIFFERENCE = "subtract only what is finite: tf.where(tf.math.is_finite(m), m, 0.0), or mask with -1e9 instead of −∞"
_PRODUCT = "pick with tf.where(mask, value, 0.0) instead of multiplying by 0, or use a large finite number instead of ∞"
