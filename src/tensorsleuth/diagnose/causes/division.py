"""x/0 and 0/0, also as a mean over nothing, and by hand-made normalisation."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case, Story

DIVISIONS = ("RealDiv", "Div", "Xdivy", "TruncateDiv", "FloorDiv", "Reciprocal", "Inv", "DivNoNan")


def match(case: Case) -> Story | None:
    if case.differentiates is not None or case.op not in DIVISIONS:
        return None
    divisor = case.input(0 if case.op in ("Reciprocal", "Inv") else 1)
    if divisor is None or not divisor.known or not divisor.count("zero"):
        return None
    zeros = f"{divisor.count('zero'):,} of the divisors are 0" if divisor.elements > 1 else "the divisor is 0"
    if case.before("Exp"):
        return Story(
            "softmax-by-hand", 0.8, f"divides exponentials by their sum, and {zeros}: they all underflowed", _SOFTMAX
        )
    if case.before("Sqrt", "Norm", "EuclideanNorm") and not case.before("Log"):
        return Story("normalise-zero", 0.85, f"divides by a norm, and {zeros}: a zero vector has no direction", _NORM)
    if case.out.count("nan") and _averages(case):
        return Story("empty-mean", 0.85, f"divides a sum by a count, and {zeros}: there was nothing to average", _MEAN)
    if case.out.count("nan"):
        return Story("zero-over-zero", 0.9, f"divides 0 by 0: {zeros}", _SAFE)
    return Story("divide-by-zero", 0.9, f"divides by zero: {zeros}", _SAFE)


def _averages(case: Case) -> bool:
    """What is divided is itself a sum, as in sum(values * mask) / sum(mask) or sum(values) / size(values)."""
    total = case.input(0)
    return total is not None and total.op == "Sum" and case.before("Mul", "Size", "Shape") is not None


_SAFE = "divide with tf.math.divide_no_nan(x, y), which gives 0 for x/0, or add an epsilon to the divisor"
_MEAN = "use tf.math.divide_no_nan(total, count), or tf.maximum(count, 1): a mask or batch may be empty"
_NORM = "use tf.math.l2_normalize(x, epsilon=1e-12), or x * tf.math.rsqrt(tf.maximum(sum_of_squares, 1e-12))"
_SOFTMAX = "use tf.nn.softmax(logits), which subtracts the largest logit first"
