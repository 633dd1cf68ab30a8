"""Memory that nothing wrote to."""

from __future__ import annotations

from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset(["Empty"])


def match(case: Case) -> Explanation | None:
    if case.op not in OPS:
        return None
    return Explanation(
        "uninitialised", 0.95, "takes memory that nothing was written to", "use tf.zeros, or write it first"
    )
