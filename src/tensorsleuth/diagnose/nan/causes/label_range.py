"""Labels outside the classes: an error in uncompiled code, a NaN if XLA compiles the loss."""

from __future__ import annotations

from tensorsleuth.core.ops.reductions import SPARSE_CROSS_ENTROPY
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset([SPARSE_CROSS_ENTROPY])


def match(case: Case) -> Explanation | None:
    if (case.differentiates or case.op) not in OPS or len(case.inputs) < 2:
        return None
    logits, labels = case.inputs[0], case.inputs[1]
    shape = logits.shape
    if shape is None or not labels.has_range or (labels.min >= 0 and labels.max < shape[-1]):
        return None
    wrong = labels.min if labels.min < 0 else labels.max
    why = f"got the label {wrong:g}, and there are {shape[-1]} classes, 0 … {shape[-1] - 1}"
    return Explanation("label-out-of-range", 0.95, why, _COUNT)


_COUNT = "labels must be 0 … classes − 1: count the classes again, or shift labels that start at 1"
