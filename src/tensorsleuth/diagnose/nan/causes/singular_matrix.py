"""Factorizations and inverses of singular matrices."""

from __future__ import annotations

from tensorsleuth.core.ops.products import DETERMINANTS, FACTORISATIONS
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset([*FACTORISATIONS, *DETERMINANTS])


def match(case: Case) -> Explanation | None:
    kind = case.differentiates or case.op
    if kind not in OPS or any(one.bad for one in case.inputs):
        return None
    what = {"Cholesky": "is not positive definite"}.get(kind, "is singular, or nearly so")
    said = "differentiates" if case.differentiates else "takes"
    return Explanation("singular-matrix", 0.9, f"{said} {kind} of a matrix that {what}", _JITTER)


_JITTER = "add a little to its diagonal (x + 1e-6 * tf.eye(n)), work in float64, or look for rows that are equal"
