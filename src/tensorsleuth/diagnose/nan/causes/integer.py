"""Integers that wrapped around, or a whole division that gave 0, and then became the float that went bad."""

from __future__ import annotations

from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.nan.case import Case, Story

GROWING = ("Mul", "Square", "Sum", "Prod", "Cumsum", "Cumprod", "Pow", "AddV2", "MatMul", "Add")
WHOLE = ("FloorDiv", "TruncateDiv", "FloorMod", "Div")
WANTS_POSITIVE = ("Log", "Log1p", "Sqrt", "Rsqrt", "Lgamma", "Pow")
DIVIDES = ("RealDiv", "Div", "Reciprocal", "Log", "Rsqrt", "Xdivy")


def match(case: Case) -> Story | None:
    if case.differentiates is not None or case.op not in (*WANTS_POSITIVE, *DIVIDES):
        return None
    integers = [one for one in _chain(case) if "int" in case.around.dtype(one)]
    if not integers:
        return None
    site = case.around.site(integers[0])
    bad = [one for one in case.inputs if one.known]
    if case.op in WANTS_POSITIVE and any(one.min < 0 for one in bad) and integers[0].type in GROWING:
        dtype = case.around.dtype(integers[0])
        why = f"computes more than {dtype} can hold: it wraps around below 0, and {case.op.lower()} of that is NaN"
        return Story("integer-overflow", 0.97, why, _WIDER, site=site)
    if case.op in DIVIDES and any(one.count("zero") for one in bad) and integers[0].type in WHOLE:
        why = "divides integers: what is below 1 becomes 0, and that is divided by"
        return Story("integer-division", 0.97, why, _FLOAT, site=site)
    return None


def _chain(case: Case) -> list[Spot]:
    """The arithmetic that leads to the op through a cast from integers; as an index they do not become its input."""
    if case.spot is None:
        return []
    casts = [one for one in case.around.before(case.spot, 5) if one.type == "Cast"]
    return [one for cast in casts for one in case.around.before(cast, 4) if one.type in (*GROWING, *WHOLE)]


_WIDER = "compute it in tf.int64, or cast to tf.float32 before multiplying"
_FLOAT = "divide as floats: tf.cast(a, tf.float32) / tf.cast(b, tf.float32)"
