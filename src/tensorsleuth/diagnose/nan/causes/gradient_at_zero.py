"""The slope of sqrt, a norm or a power at zero is infinite, and so is that of log and 1/x.

The forward pass of the first three is fine there. That of the others may be missing: a loss that nobody asks for is not
computed.
"""

from __future__ import annotations

import math

from tensorsleuth.core.ops.numerics import LARGEST_FINITE, STEEP_AT_ZERO
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

OPS = STEEP_AT_ZERO
NEEDS = Need.FUNCTIONS | Need.EAGER_GRADIENTS


def match(case: Case) -> Explanation | None:
    kind = case.differentiates
    if kind not in OPS:
        return None
    taken = [one for one in case.inputs if one.has_range and one.constant is None]
    if not any(one.count("zero") for one in taken):
        return _half_slope(case, taken) if kind in ("Log", "RealDiv") else None
    if kind == "Log":
        return Explanation("log-zero", 0.85, "differentiates log at 0, where it is −∞ and its slope is infinite", _LOG)
    if kind == "RealDiv":
        return Explanation("divide-by-zero", 0.8, "differentiates a division by 0", _DIVISION)
    if kind == "Pow":
        return Explanation("grad-pow-zero", 0.85, "differentiates a power at 0, where its slope is infinite", _POW)
    if "norm" in case.name.lower() or "norm(" in case.code:
        return Explanation(
            "grad-norm-zero", 0.87, "differentiates a norm at the zero vector, where it has no slope", _NORM
        )
    return Explanation("grad-sqrt-zero", 0.86, "differentiates sqrt at 0, where its slope is infinite", _SQRT)


def _half_slope(case: Case, taken: list[ObservedTensor]) -> Explanation | None:
    """Match 1/x of a number that half precision holds, and whose inverse it does not."""
    smallest = min((min(abs(one.min), abs(one.max)) for one in taken if one.min * one.max > 0), default=0.0)
    largest = LARGEST_FINITE[case.out.dtype] if case.out.is_half else math.inf
    if not 0 < smallest < 1 / largest:
        return None
    kind = "log" if case.differentiates == "Log" else "a division"
    epsilon = ", and the epsilon that is added is 0 there" if any(one.constant == (0.0,) for one in case.inputs) else ""
    why = (
        f"differentiates {kind} for numbers as small as {smallest:.3g}: the slope, 1/x, exceeds {largest:,.0f}, the "
        f"largest {case.out.dtype}{epsilon}"
    )
    return Explanation("grad-half-overflow", 0.9, why, _FLOAT32)


_FLOAT32 = (
    "compute the loss in float32 (the last layer with dtype='float32'), and from the logits: no loss scale mends it"
)
_LOG = "keep it away from 0: tf.math.log(tf.maximum(x, 1e-7)), or compute the loss from the logits"
_DIVISION = "divide with tf.math.divide_no_nan(x, y), or add an epsilon to the divisor"
_SQRT = "keep the argument away from 0: tf.sqrt(x + 1e-12), or tf.sqrt(tf.maximum(x, 1e-12))"
_NORM = "add an epsilon under the root: tf.sqrt(tf.reduce_sum(tf.square(x), axis) + 1e-12)"
_POW = "keep the base away from 0: tf.pow(tf.maximum(x, 1e-7), p)"
