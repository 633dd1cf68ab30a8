"""Computes the smallest and the largest value that an op makes of one tensor, or of a tensor and a number."""

from __future__ import annotations

import math
from collections.abc import Callable

Range = tuple[float, float]

# They rise or fall all the way, so that the ends of a range go to the ends of the result.
MONOTONE_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "Neg": lambda x: -x,
    "Cast": lambda x: x,
    "Relu": lambda x: max(x, 0.0),
    "Exp": math.exp,
    "Sqrt": math.sqrt,
    "Log1p": math.log1p,
    "Expm1": math.expm1,
}
# They do so on either side of 0.
EVEN_FUNCTIONS: dict[str, Callable[[float], float]] = {"Abs": abs, "Square": lambda x: x * x}
# The same of two numbers, of which one stays as it is.
MONOTONE_OPERATORS: dict[str, Callable[[float, float], float]] = {
    "AddV2": lambda x, y: x + y,
    "Add": lambda x, y: x + y,
    "Sub": lambda x, y: x - y,
    "Mul": lambda x, y: x * y,
    "RealDiv": lambda x, y: x / y,
    "Div": lambda x, y: x / y,
    "Maximum": max,
    "Minimum": min,
}


def result_range(op: str, inputs: list[Range]) -> Range | None:
    """Return the range of an op's result; None if the ranges of its inputs do not tell."""
    try:
        ends = _ends(op, inputs)
    except (ArithmeticError, ValueError):
        return None
    return (min(ends), max(ends)) if ends and all(map(math.isfinite, ends)) else None


def _ends(op: str, inputs: list[Range]) -> list[float]:
    if op in MONOTONE_FUNCTIONS and len(inputs) == 1:
        return [MONOTONE_FUNCTIONS[op](end) for end in inputs[0]]
    if op in EVEN_FUNCTIONS and len(inputs) == 1 and (inputs[0][0] >= 0 or inputs[0][1] <= 0):
        return [EVEN_FUNCTIONS[op](end) for end in inputs[0]]
    if op not in MONOTONE_OPERATORS or len(inputs) != 2 or not any(low == high for low, high in inputs):
        return []
    if op in ("RealDiv", "Div") and inputs[1][0] <= 0 <= inputs[1][1]:
        return []
    return [MONOTONE_OPERATORS[op](x, y) for x in inputs[0] for y in inputs[1]]
