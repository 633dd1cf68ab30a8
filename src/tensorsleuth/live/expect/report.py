"""The report on a broken rule, and its conversion to a violation with a message."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.live.expect.expectation import Expectation, dims_words
from tensorsleuth.recording.calling_line import ProgramLine

Shape = tuple[int, ...]


class JudgeReport(NamedTuple):
    """A broken rule: the number and the first places of bad elements, and details for the message."""

    rule: str
    broken: int | None = None
    total: int | None = None
    positions: tuple[int, ...] = ()  # flat indices; for sums, without the summed axis
    values: tuple[Any, ...] = ()
    low: float = math.nan  # the range of the finite values
    high: float = math.nan
    nan: int = 0
    inf: int = 0
    dim: str | None = None  # for a shape: the name with conflicting sizes
    size: int = -1  # the earlier size of that name
    other: ProgramLine | None = None  # the line that set the earlier size


def make_violation(
    expected: Expectation,
    judge_report: JudgeReport,
    name: str,
    dtype: str,
    shape: Shape | None,
    program_line: ProgramLine,
) -> Violation:
    """Return the violation, in words for people and as fields for the trace."""
    rule = judge_report.rule
    words = expected.words(rule)
    if judge_report.dim is not None:
        words = f"{judge_report.dim} = {judge_report.size} as at {judge_report.other}"
    return Violation(
        rule=rule,
        name=name,
        expected=words,
        found=_found(rule, judge_report, dtype, shape, expected),
        broken=judge_report.broken,
        total=judge_report.total,
        positions=tuple(_unravelled(judge_report, shape, expected)),
        values=tuple(_value(value, dtype, rule) for value in judge_report.values),
        change=_change(judge_report),
        severity="error" if expected.on_violation == "raise" else "warning",
        file=program_line.file,
        line=program_line.line,
        code=program_line.code,
        function=program_line.function,
        other=str(judge_report.other) if judge_report.other is not None else None,
    )


def _found(rule: str, judge_report: JudgeReport, dtype: str, shape: Shape | None, expected: Expectation) -> str:
    form = dims_words(shape) if shape is not None else "unknown shape"
    if rule == "dtype":
        return dtype
    if rule == "rank":
        return f"rank {len(shape or ())}, shape {form}"
    if rule == "shape":
        return (
            f"{judge_report.dim} = {_size_of(judge_report.dim, shape, expected)}, shape {form}"
            if judge_report.dim
            else form
        )
    if rule == "max_elements":
        return f"{judge_report.size if judge_report.size >= 0 else math.prod(shape or ()):,}, shape {form}"
    return _found_in_values(rule, judge_report)


def _found_in_values(rule: str, judge_report: JudgeReport) -> str:
    if rule == "finite":
        return _not_finite(judge_report)
    if rule == "between":
        odd = f", and {_not_finite(judge_report)}" if judge_report.nan or judge_report.inf else ""
        return (
            f"{_spread('value', judge_report)}{odd}"
            if judge_report.low == judge_report.low
            else odd.removeprefix(", and ")
        )
    if rule == "sums_to":
        return _spread("sum", judge_report) if judge_report.low == judge_report.low else "sums that are not finite"
    if rule == "increasing":
        return "values that are not larger than the one before"
    if rule == "one_of":
        return "other values"
    return "False"


def _spread(what: str, judge_report: JudgeReport) -> str:
    low, high = format_value(judge_report.low), format_value(judge_report.high)
    return f"{what}s from {low} to {high}" if low != high else f"{what}s of {low}"


def _not_finite(judge_report: JudgeReport) -> str:
    parts = [
        f"{judge_report.nan:,} NaN" if judge_report.nan else "",
        f"{judge_report.inf:,} infinite" if judge_report.inf else "",
    ]
    return ", ".join(part for part in parts if part)


def _size_of(dim: str | None, shape: Shape | None, expected: Expectation) -> int | str:
    """Return the first size in this shape of a named dimension."""
    return next((size for size, one in pair_dims(expected.shape or (), shape or ()) if one == dim), "?")


def pair_dims(dims: Sequence[Any], shape: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return (size, expectation) for each dimension that the expected shape mentions."""
    if ... not in dims:
        return list(zip(shape, dims))
    rest = list(dims).index(...)
    after = len(dims) - rest - 1
    return [*zip(shape[:rest], dims[:rest]), *(zip(shape[len(shape) - after :], dims[rest + 1 :]) if after else ())]


def _unravelled(judge_report: JudgeReport, shape: Shape | None, expected: Expectation) -> list[tuple[int, ...]]:
    if shape is None:
        return [(at,) for at in judge_report.positions]
    if judge_report.rule == "sums_to" and shape:
        axis = expected.axis % len(shape)
        shape = shape[:axis] + shape[axis + 1 :]
    return [tuple(int(one) for one in np.unravel_index(at, shape)) if shape else () for at in judge_report.positions]


def _value(value: Any, dtype: str, rule: str) -> Any:
    """Return a value in its own type, for example an int if the dtype is an integer."""
    if not isinstance(value, float) or dtype.startswith(("float", "bfloat", "complex")):
        return value
    if dtype == "bool" and rule != "sums_to":
        return bool(value)
    return int(value) if math.isfinite(value) and value.is_integer() else value


def _change(judge_report: JudgeReport) -> str | None:
    if judge_report.dim is not None:
        return f"If the two may differ, give one of the dimensions a name other than {judge_report.dim!r}."
    return None
