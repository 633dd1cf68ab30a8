"""Integers that wrapped around, or an integer division that gave 0, before they became bad floats."""

from __future__ import annotations

import math

from tensorsleuth.core.ops.numerics import (
    INTEGER_DIVISIONS,
    NOT_OF_NEGATIVES,
    NOT_OF_ZERO,
    RESULTS_FOR_ZERO,
    WRAPPING_OPS,
)
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = frozenset([*NOT_OF_NEGATIVES, *NOT_OF_ZERO])
SIGNED_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def match(case: Case) -> Explanation | None:
    if case.differentiates is not None or case.op not in OPS:
        return None
    integers = [one for one in _integer_ops(case) if "int" in case.neighbours.dtype(one)]
    if not integers:
        return None
    site = case.neighbours.site(integers[0])
    bad = [one for one in case.inputs if one.has_range]
    if case.op in NOT_OF_NEGATIVES and any(one.min < 0 for one in bad) and _wrapped(case, integers[0]):
        dtype = case.neighbours.dtype(integers[0])
        why = f"computes more than {dtype} can hold: it wraps around below 0, and {case.op.lower()} of that is NaN"
        return Explanation("integer-overflow", 0.97, why, _WIDER, site=site)
    if case.op in NOT_OF_ZERO and any(one.count("zero") for one in bad) and integers[0].type in INTEGER_DIVISIONS:
        why = f"divides integers: what is below 1 becomes 0, and {RESULTS_FOR_ZERO.get(case.op, 'that is divided by')}"
        return Explanation("integer-division", 0.97, why, _FLOAT, site=site)
    return None


def _wrapped(case: Case, integer_op: OpNode) -> bool:
    """Is the result as far below 0 as one that wrapped around is: small negative numbers may be meant."""
    bits = SIGNED_BITS.get(case.neighbours.dtype(integer_op))
    lowest = min(
        (one.min for cast in _casts(case) for one in case.neighbours.recorded_outputs(cast)), default=-math.inf
    )
    return integer_op.type in WRAPPING_OPS and bits is not None and lowest < -(2.0 ** (bits - 1)) / 128


def _casts(case: Case) -> list[OpNode]:
    found = case.neighbours.ancestors(case.op_node, 5) if case.op_node is not None else iter(())
    return [one for one in found if one.type == "Cast"]


def _integer_ops(case: Case) -> list[OpNode]:
    """The arithmetic that leads to the op through a cast from integers; as an index they do not become its input."""
    return [
        one
        for cast in _casts(case)
        for one in case.neighbours.ancestors(cast, 4)
        if one.type in (*WRAPPING_OPS, *INTEGER_DIVISIONS)
    ]


_WIDER = "compute it in tf.int64, or cast to tf.float32 before multiplying"
_FLOAT = "divide as floats: tf.cast(a, tf.float32) / tf.cast(b, tf.float32)"
