"""A reduction over no elements: the mean of nothing is 0/0, its maximum −∞."""

from __future__ import annotations

from tensorsleuth.core.ops.numerics import UNDEFINED_WHEN_EMPTY
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = UNDEFINED_WHEN_EMPTY


def match(case: Case) -> Explanation | None:
    x = case.input(0)
    if case.op not in OPS or x is None or x.shape is None or x.elements:
        return None
    shape = list(x.shape)
    if case.op in ("Mean", "SegmentMean"):
        return Explanation("empty-mean", 0.95, f"averages an empty tensor, of shape {shape}", _MEAN)
    return Explanation(
        "empty-tensor", 0.95, f"takes the {case.op.lower()} of an empty tensor, of shape {shape}", _EXTREME
    )


_MEAN = "the mask or filter before it may leave nothing: tf.math.divide_no_nan(tf.reduce_sum(x), count)"
_EXTREME = "handle the empty case: tf.cond(tf.size(x) > 0, …), or put a neutral element into x first"
