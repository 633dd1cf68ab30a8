"""The gradient of sqrt, norm or a power at zero is infinite: the forward pass is fine, the backward pass is not."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case, Story


def match(case: Case) -> Story | None:
    kind = case.differentiates
    if kind not in ("Sqrt", "Rsqrt", "Norm", "EuclideanNorm", "Pow"):
        return None
    if not any(one.known and one.count("zero") for one in case.inputs):
        return None
    if kind == "Pow":
        return Story("grad-pow-zero", 0.85, "differentiates a power at 0, where its slope is infinite", _POW)
    if "norm" in case.name.lower() or "norm(" in case.code:
        return Story("grad-norm-zero", 0.87, "differentiates a norm at the zero vector, where it has no slope", _NORM)
    return Story("grad-sqrt-zero", 0.86, "differentiates sqrt at 0, where its slope is infinite", _SQRT)


_SQRT = "keep the argument away from 0: tf.sqrt(x + 1e-12), or tf.sqrt(tf.maximum(x, 1e-12))"
_NORM = "add an epsilon under the root: tf.sqrt(tf.reduce_sum(tf.square(x), axis) + 1e-12)"
_POW = "keep the base away from 0: tf.pow(tf.maximum(x, 1e-7), p)"
