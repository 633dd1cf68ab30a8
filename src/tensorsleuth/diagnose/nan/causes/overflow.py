"""exp, sinh, powers, products and sums that leave the range of their dtype."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import DIVISIONS
from tensorsleuth.core.ops.numerics import EXPONENTIALS, LARGEST_FINITE, OVERFLOWING_MULTIPLICATIONS, OVERFLOWING_SUMS
from tensorsleuth.core.ops.products import OVERFLOWING_PRODUCTS
from tensorsleuth.diagnose.graph.neighbours import adds_one
from tensorsleuth.diagnose.graph.value_range import range_of
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset([*EXPONENTIALS, *OVERFLOWING_SUMS, *OVERFLOWING_MULTIPLICATIONS, *DIVISIONS, "Cast"])


def match(case: Case) -> Explanation | None:
    if case.op not in OPS or not case.out.has_inf or case.origin.from_outside:
        return None
    if case.op in EXPONENTIALS:
        return _exponential(case)
    if any(one.bad for one in case.inputs) or _stays_finite(case):
        return None
    if _is_norm(case):
        return Explanation(
            "clip-nan-norm", 0.93, f"squares gradients for their norm, and overflows: {_range(case)}", _NORM
        )
    sums_up = case.op in (*OVERFLOWING_SUMS, *OVERFLOWING_MULTIPLICATIONS, *DIVISIONS, "Cast")
    if case.out.is_half and sums_up and not _by_zero(case):
        return _half_precision(case)
    if case.differentiates is not None or not _is_large_enough(case):
        return None
    if case.op in OVERFLOWING_MULTIPLICATIONS:
        slug = {"Cumprod": "cumprod-overflow", "Pow": "pow-overflow"}.get(case.op, "product-overflow")
        return Explanation(slug, 0.8, f"overflows {case.out.dtype}: {_range(case)}", _LOGS)
    if case.op in OVERFLOWING_SUMS:
        return Explanation(
            "sum-overflow", 0.6, f"adds up to more than {case.out.dtype} can hold: {_range(case)}", _SCALE
        )
    if case.op == "Cast":
        return Explanation("half-overflow", 0.8, f"does not fit into {case.out.dtype}: {_range(case)}", _WIDER)
    return None


def _stays_finite(case: Case) -> bool:
    """Return whether an op that was fused into another one had a finite result: the other one overflowed."""
    result = range_of(case.neighbours, case.op_node) if case.is_fused and case.op_node is not None else None
    return result is not None and max(-result[0], result[1]) < LARGEST_FINITE.get(case.out.dtype, 0.0)


def _by_zero(case: Case) -> bool:
    """Is one of the divisors 0: in any precision that is no overflow."""
    divisor = case.input(1) if case.op in DIVISIONS else None
    return divisor is not None and divisor.has_range and divisor.count("zero") > 0


def _is_large_enough(case: Case) -> bool:
    """Return whether inputs of that size can overflow at all."""
    if case.op in ("Pow", "Prod", "Cumprod"):
        return True
    largest = max((one.max_abs for one in case.inputs if one.has_range), default=0.0)
    root = LARGEST_FINITE.get(case.out.dtype, 3e38) ** 0.5
    return bool(largest > (root / 1e6 if case.op in (*OVERFLOWING_MULTIPLICATIONS, *OVERFLOWING_PRODUCTS) else root))


def _exponential(case: Case) -> Explanation:
    limit = {"float16": 11, "float64": 709}.get(case.out.dtype, 88)
    largest = _argument(case, limit)
    if case.leads_to("Sum") and (
        case.leads_to("RealDiv|Div") or case.leads_to("Gather|GatherV2|GatherNd", "RealDiv|Div")
    ):
        why = f"takes exp {largest} for a hand-made softmax: it overflows above {limit}"
        return Explanation("softmax-by-hand", 0.9, why, _SOFTMAX)
    if case.leads_to("Sum|Mean|Cumsum", "Log"):
        why = f"takes exp {largest} before a sum and a log: it overflows above {limit}"
        return Explanation("logsumexp-by-hand", 0.9, why, _LSE)
    if case.op == "Exp" and (case.leads_to("Log1p") or (case.leads_to("AddV2|Add", "Log") and _adds_one(case))):
        why = f"takes exp {largest} for a hand-made softplus, log(1 + exp(x)): it overflows above {limit}"
        return Explanation("exp-overflow", 0.92, why, _SOFTPLUS)
    if case.op == "Exp" and case.leads_to("AddV2|Add", "RealDiv|Div|Reciprocal", "Log") and _adds_one(case):
        why = f"takes exp {largest} for a hand-made sigmoid before a log: it overflows above {limit}"
        return Explanation("exp-overflow", 0.92, why, _LOG_SIGMOID)
    slug = "exp-overflow" if case.op in ("Exp", "Expm1") else "sinh-overflow"
    why = f"takes {case.op.lower()} {largest}: it overflows {case.out.dtype} above {limit}"
    return Explanation(slug, 0.9, why, _CLIP)


def _argument(case: Case, limit: int) -> str:
    """Return the argument's size in words; an op fused into this one, such as the minus of exp(-x), has no row."""
    seen = case.input_range()
    return f"of numbers up to {seen[1]:.4g}" if seen is not None and seen[1] > limit else "of large numbers"


def _adds_one(case: Case) -> bool:
    """Return whether 1 is added to its output."""
    sums = (
        [one for one in case.neighbours.consumers(case.op_node) if one.type in ("AddV2", "Add")] if case.op_node else []
    )
    return any(adds_one(case.neighbours, one) for one in sums)


def _is_norm(case: Case) -> bool:
    """Return whether it is the sum of squares of all gradients, on its way to a clip."""
    squares = case.op in ("L2Loss", "Square", "Sum", "Mul", "AddN")
    return squares and ("global_norm" in case.name or "clip_by" in case.name or "clip_by" in case.code)


def _half_precision(case: Case) -> Explanation:
    slug = "sum-overflow" if case.op in ("Sum", "Mean") else "half-overflow"
    limit = (
        f"{LARGEST_FINITE[case.out.dtype]:,.0f}"
        if case.out.dtype == "float16"
        else f"{LARGEST_FINITE[case.out.dtype]:.3g}"
    )
    what = "its gradient exceeds" if case.differentiates is not None else "exceeds"
    fix = _SCALING if case.differentiates is not None else _WIDER
    return Explanation(slug, 0.93, f"{what} {limit}, the largest {case.out.dtype}: {_range(case)}", fix)


def _range(case: Case) -> str:
    known = [one.max_abs for one in case.own_inputs if one.has_range and one.max_abs == one.max_abs]
    return f"its inputs reach {max(known):.4g}" if known else "its inputs are large"


_CLIP = "bound what goes in: tf.exp(tf.minimum(x, 80.0)), or work with logarithms"
_SOFTMAX = "use tf.nn.softmax(logits), which subtracts the largest logit first"
_SOFTPLUS = "use tf.nn.softplus(x), which is log(1 + exp(x)) without the overflow"
_LOG_SIGMOID = "use tf.math.log_sigmoid(x), which is log(1 / (1 + exp(-x))) without the overflow"
_LSE = "use tf.reduce_logsumexp(x, axis), or tf.math.cumulative_logsumexp"
_LOGS = "add logarithms instead of multiplying, or normalise the factors"
_SCALE = "scale or normalise what is added; look at why it is that large"
_WIDER = "compute this in float32: tf.cast(x, tf.float32) before, and back after"
_SCALING = (
    "lower the loss scale, or let keras.mixed_precision.LossScaleOptimizer choose it; compute large sums in float32"
)
_NORM = "an infinite norm makes all gradients NaN: clip each by value first, or look at why they are that large"
