"""sqrt of a negative number, rsqrt or a negative power of zero, and divisions that TensorFlow rewrites to them."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.ops.numerics import ROOTS_AND_POWERS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.nan.case import Case, Explanation, negation_words
from tensorsleuth.diagnose.nan.causes.division import is_deviation, is_norm

MAX_ROUNDING = 1e-2  # of the largest number: what is farther below 0 is no rounding

OPS = ROOTS_AND_POWERS


def match(case: Case) -> Explanation | None:
    x = case.input(0)
    if case.op not in OPS or case.differentiates is not None or x is None or not x.has_range:
        return None
    low, high = case.input_range() or (x.min, x.max)
    if case.op in ("Sqrt", "Rsqrt") and low < 0 and case.out.has_nan:
        why = f"takes the square root of negative numbers (down to {low:.4g}){negation_words(case)}"
        return Explanation("sqrt-negative", 0.95, why, _ROUNDED if _is_rounding(low, high) else _NEGATIVE)
    if case.op in ("Sqrt", "Rsqrt") and x.count("zero") and case.out.has_inf:
        return _inverse_root_of_zero(case, x.count("zero"))
    return _power(case) if case.op == "Pow" else None


def _is_rounding(low: float, high: float) -> bool:
    """Can a difference of numbers as large as these be that far below 0 by rounding alone."""
    return -low <= MAX_ROUNDING * max(high, 1.0)


def _inverse_root_of_zero(case: Case, zeros: int) -> Explanation | None:
    """Match 1/sqrt(0). TensorFlow computes x / sqrt(y) as x * rsqrt(y), so the division is to blame then."""
    vanished = _vanished_epsilon(case)
    if case.op == "Rsqrt":
        why = f"takes 1/sqrt(0): {zeros:,} of what went in is 0"
        return vanished or Explanation("rsqrt-zero", 0.95, why, _RSQRT)
    if case.op_node is None or (division := _division_after(case, case.op_node)) is None:
        return None
    told = vanished or _divided(case, case.op_node, zeros)
    return replace(told, site=case.neighbours.site(division), computed="Rsqrt")


def _divided(case: Case, root: OpNode, zeros: int) -> Explanation:
    if is_deviation(root, case):
        why = f"divides by a standard deviation that is 0 ({zeros:,} of them): all values are equal"
        return Explanation("zero-over-zero", 0.9, why, _DEVIATION)
    if not is_norm(root, case):
        return Explanation("zero-over-zero", 0.9, f"divides by a square root that is 0 ({zeros:,} of them)", _ROOT)
    why = f"divides by a norm that is 0 ({zeros:,} of them): a zero vector has no direction"
    return Explanation("normalise-zero", 0.92, why, _NORM)


def _division_after(case: Case, root: OpNode) -> OpNode | None:
    """Return the division by a root, also if an added epsilon was rounded away."""
    users = case.neighbours.consumers(root)
    added = [further for one in users if one.type in ("AddV2", "Add") for further in case.neighbours.consumers(one)]
    return next((one for one in (*users, *added) if one.type in ("RealDiv", "Div")), None)


def _vanished_epsilon(case: Case) -> Explanation | None:
    """Match an added epsilon that half precision rounds to 0."""
    if not case.out.is_half:
        return None
    added = case.node_before("AddV2", "Add", "Maximum", depth=2) is not None or case.leads_to(
        "AddV2|Add", "RealDiv|Div"
    )
    constants = [one for one in case.inputs if one.constant is not None and one.max_abs < 1e-4]
    if not added and not constants:
        return None
    why = f"adds an epsilon that {case.out.dtype} rounds to 0, so what it should protect is 0"
    return Explanation("epsilon-vanishes", 0.96, why, _EPSILON)


def _power(case: Case) -> Explanation | None:
    x, y = case.input(0), case.input(1)
    if x is None or y is None or not y.has_range:
        return None
    if x.count("zero") and y.min < 0 and case.out.has_inf:
        return Explanation(
            "divide-by-zero", 0.9, "raises 0 to a negative power", "keep the base away from 0: tf.maximum(x, 1e-7)"
        )
    if x.min < 0 and case.out.has_nan:
        return Explanation(
            "out-of-domain", 0.9, f"raises a negative number ({x.min:.4g}) to a fractional power", _POWER
        )
    return None


_ROUNDED = "rounding can make a difference or variance slightly negative: tf.sqrt(tf.maximum(x, 0.0))"
_NEGATIVE = (
    "this is too far below 0 for rounding: look at how the argument is computed (a sign, data without a lower bound, a "
    "layer that needs a softplus); tf.sqrt(tf.maximum(x, 0.0)) only hides it"
)
_RSQRT = "add an epsilon before the root: tf.math.rsqrt(x + 1e-12)"
_POWER = "take the power of tf.abs(x), or of tf.maximum(x, 0.0)"
_NORM = "use tf.math.l2_normalize(x, epsilon=1e-12), or add an epsilon under the root"
_ROOT = "add an epsilon behind the root: x / (tf.sqrt(y) + 1e-7)"
_DEVIATION = "add an epsilon to the deviation: (x - mean) / (std + 1e-6): a constant input has none"
_EPSILON = "use an epsilon that float16 can hold (1e-3 rather than 1e-8), or compute this in float32"
