"""The report of a judge, and the violation that it makes, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.violation import Violation, shown
from tensorsleuth.live.expect.expectation import Expectation, dims_words
from tensorsleuth.recording.caller import Place

Shape = tuple[int, ...]


class Report(NamedTuple):
    """A rule that is broken: how often, where first, and what else is needed to say so."""

    rule: str
    broken: int | None = None
    total: int | None = None
    positions: tuple[int, ...] = ()  # flat; of sums, in what remains when the axis is gone
    values: tuple[Any, ...] = ()
    low: float = math.nan  # the range of what is finite
    high: float = math.nan
    nan: int = 0
    inf: int = 0
    dim: str | None = None  # of a shape: the name that has another size already
    size: int = -1  # this size
    other: Place | None = None  # by the word of this place


def violation(
    expected: Expectation, report: Report, name: str, dtype: str, shape: Shape | None, place: Place
) -> Violation:
    """All of it, for people and for the trace."""
    rule = report.rule
    words = expected.words(rule)
    if report.dim is not None:
        words = f"{report.dim} = {report.size} as at {report.other}"
    return Violation(
        rule=rule,
        name=name,
        expected=words,
        found=_found(rule, report, dtype, shape, expected),
        broken=report.broken,
        total=report.total,
        positions=tuple(_unravelled(report, shape, expected)),
        values=tuple(_value(value, dtype, rule) for value in report.values),
        change=_change(report),
        severity="error" if expected.on_violation == "raise" else "warning",
        file=place.file,
        line=place.line,
        code=place.code,
        function=place.function,
        other=str(report.other) if report.other is not None else None,
    )


def _found(rule: str, report: Report, dtype: str, shape: Shape | None, expected: Expectation) -> str:
    form = dims_words(shape) if shape is not None else "unknown shape"
    if rule == "dtype":
        return dtype
    if rule == "rank":
        return f"rank {len(shape or ())}, shape {form}"
    if rule == "shape":
        return f"{report.dim} = {_size_of(report.dim, shape, expected)}, shape {form}" if report.dim else form
    if rule == "max_elements":
        return f"{report.size if report.size >= 0 else math.prod(shape or ()):,}, shape {form}"
    return _found_in_values(rule, report)


def _found_in_values(rule: str, report: Report) -> str:
    if rule == "finite":
        return _not_finite(report)
    if rule == "between":
        odd = f", and {_not_finite(report)}" if report.nan or report.inf else ""
        return f"{_spread('value', report)}{odd}" if report.low == report.low else odd.removeprefix(", and ")
    if rule == "sums_to":
        return _spread("sum", report) if report.low == report.low else "sums that are not finite"
    if rule == "increasing":
        return "values that are not larger than the one before"
    if rule == "one_of":
        return "other values"
    return "False"


def _spread(what: str, report: Report) -> str:
    low, high = shown(report.low), shown(report.high)
    return f"{what}s from {low} to {high}" if low != high else f"{what}s of {low}"


def _not_finite(report: Report) -> str:
    parts = [f"{report.nan:,} NaN" if report.nan else "", f"{report.inf:,} infinite" if report.inf else ""]
    return ", ".join(part for part in parts if part)


def _size_of(dim: str | None, shape: Shape | None, expected: Expectation) -> int | str:
    """The first size that the name stands for and that it had not before."""
    return next((size for size, one in paired(expected.shape or (), shape or ()) if one == dim), "?")


def paired(dims: Sequence[Any], shape: Sequence[Any]) -> list[tuple[Any, Any]]:
    """(size, what is expected of it) for each dimension that something is said about."""
    if ... not in dims:
        return list(zip(shape, dims))
    rest = list(dims).index(...)
    after = len(dims) - rest - 1
    return [*zip(shape[:rest], dims[:rest]), *(zip(shape[len(shape) - after :], dims[rest + 1 :]) if after else ())]


def _unravelled(report: Report, shape: Shape | None, expected: Expectation) -> list[tuple[int, ...]]:
    if shape is None:
        return [(at,) for at in report.positions]
    if report.rule == "sums_to" and shape:
        axis = expected.axis % len(shape)
        shape = shape[:axis] + shape[axis + 1 :]
    return [tuple(int(one) for one in np.unravel_index(at, shape)) if shape else () for at in report.positions]


def _value(value: Any, dtype: str, rule: str) -> Any:
    """As the program has it: whole where the dtype is."""
    if not isinstance(value, float) or dtype.startswith(("float", "bfloat", "complex")):
        return value
    if dtype == "bool" and rule != "sums_to":
        return bool(value)
    return int(value) if math.isfinite(value) and value.is_integer() else value


def _change(report: Report) -> str | None:
    if report.dim is not None:
        return f"Where the two need not be the same, give one of the dimensions a name other than {report.dim!r}."
    return None
