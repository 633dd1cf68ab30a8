"""Judges values that already exist: arrays, numbers, eager tensors, ragged and sparse ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.live.expect.dimension_names import NamedSizes, sizes_of_thread
from tensorsleuth.live.expect.expectation import RAGGED, Expectation, dtype_name
from tensorsleuth.live.expect.judge import check_dtype_fits, judge_form
from tensorsleuth.live.expect.native_judge import judge_values
from tensorsleuth.live.expect.report import JudgeReport, make_violation
from tensorsleuth.recording.calling_line import ProgramLine

Sizes = tuple[Any, ...]


def judge_array(expected: Expectation, array: Array, name: str, program_line: ProgramLine) -> Violation | None:
    """Return the first violation of an array, if any."""
    dtype, shape = _name_of(array), array.shape
    report = judge_form(expected, dtype, shape, _names(expected), program_line)
    if report is None and expected.value_rules:
        check_dtype_fits(expected, dtype)
        report = judge_values(expected, array)
    return make_violation(expected, report, name, dtype, shape, program_line) if report is not None else None


def _names(expected: Expectation) -> NamedSizes:
    return sizes_of_thread() if expected.names else {}


def _name_of(array: Array) -> str:
    return "string" if array.dtype.kind in "OSU" else dtype_name(array.dtype)


def judge_ragged(
    expected: Expectation, values: Array, splits: list[Array], name: str, program_line: ProgramLine
) -> Violation | None:
    """Judge a ragged tensor: its flat values, and the `splits` where rows begin, outermost first."""
    dtype = _name_of(values)
    shape = (len(splits[0]) - 1, *(_even(one) for one in splits), *values.shape[1:])
    judge_report = judge_form(replace(expected, max_elements=None), dtype, shape, _names(expected), program_line)
    if judge_report is None and expected.max_elements is not None and values.size > expected.max_elements:
        judge_report = JudgeReport("max_elements", size=values.size)
    if judge_report is not None or not expected.value_rules:
        return (
            make_violation(expected, judge_report, name, dtype, shape, program_line)
            if judge_report is not None
            else None
        )
    check_dtype_fits(expected, dtype)
    if values.ndim == 1 and (expected.sums_to is not None or expected.increasing):
        return _judge_rows(expected, values, splits, name, program_line)
    found = judge_array(expected.values_only(), values, name, program_line)
    return (
        replace(found, positions=tuple(_in_rows(at, splits) for at in found.positions)) if found is not None else None
    )


def _even(splits: Array) -> int:
    """Return the length of the rows if all are equally long."""
    lengths = np.diff(splits)
    return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else RAGGED


def _judge_rows(
    expected: Expectation, values: Array, splits: list[Array], name: str, program_line: ProgramLine
) -> Violation | None:
    """Judge each row separately, because no sum or increasing sequence spans two rows."""
    rows = [values[begin:end] for begin, end in zip(splits[-1], splits[-1][1:])]
    alone = replace(expected.values_only(), axis=-1)
    for number, row in enumerate(rows):
        found = judge_array(alone, row, f"{name}[{', '.join(map(str, _row(number, splits)))}]", program_line)
        if found is not None:
            return found
    return None


def _row(number: int, splits: list[Array]) -> tuple[int, ...]:
    return _in_rows((number,), splits[:-1]) if len(splits) > 1 else (number,)


def _in_rows(position: tuple[int, ...], splits: list[Array]) -> tuple[int, ...]:
    """Return the row position of an element of the flat values."""
    at, found = position[0], list(position[1:])
    for one in reversed(splits):
        row = int(np.searchsorted(one, at, side="right")) - 1
        found.insert(0, int(at - one[row]))
        at = row
    return (int(at), *found)


def judge_sparse(
    expected: Expectation, values: Array, indices: Array, sizes: Sizes, name: str, program_line: ProgramLine
) -> Violation | None:
    """Judge the explicit values only, and the shape of the whole tensor."""
    dtype = _name_of(values)
    report: JudgeReport | None = judge_form(expected, dtype, sizes, _names(expected), program_line)
    if report is not None:
        return make_violation(expected, report, name, dtype, sizes, program_line)
    found = judge_array(expected.values_only(), values, name, program_line)
    if found is None:
        return None
    places = tuple((*(int(one) for one in indices[at[0]]), *at[1:]) for at in found.positions)
    return replace(found, positions=places)


def as_array(thing: Any) -> Array | None:
    """Return a number, a string, a NumPy array or an object with `__array__` as an array; None for anything else."""
    if isinstance(thing, np.ndarray):
        return thing
    if isinstance(thing, bool | int | float | complex | str | bytes | np.generic) or hasattr(thing, "__array__"):
        return np.asarray(thing)
    return None
