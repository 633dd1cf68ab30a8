"""Judges in native code: where the library is loaded, and the values are numbers. The structs are those of expect.h."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int64, c_void_p
from functools import lru_cache
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import DTYPES, Kind
from tensorsleuth.live.expect import judge
from tensorsleuth.live.expect.dimension_names import number_of
from tensorsleuth.live.expect.expectation import MOST_DIMS, MOST_RANKS, Expectation, dtype_name
from tensorsleuth.live.expect.report import Report
from tensorsleuth.native import loader

_BITS = {
    "rank": 1,
    "shape": 2,
    "max_elements": 3,
    "finite": 4,
    "between": 5,
    "one_of": 6,
    "increasing": 7,
    "sums_to": 8,
    "that": 9,
}
RULE_OF_BIT = {bit: rule for rule, bit in _BITS.items()}
NUMBERS = {dtype.name: number for number, dtype in DTYPES.items() if dtype.kind is not Kind.OTHER}
_ANY, _FIXED, _NAMED = 0, 1, 2


class Plan(ctypes.Structure):
    """Plan in expect.h."""

    _fields_ = [
        ("rules", c_int64),
        ("rank_count", c_int64),
        ("ranks", c_int64 * MOST_RANKS),
        ("least_rank", c_int64),
        ("dim_count", c_int64),
        ("rest", c_int64),
        ("dim_kind", c_int64 * MOST_DIMS),
        ("dim_value", c_int64 * MOST_DIMS),
        ("most_elements", c_int64),
        ("choice_count", c_int64),
        ("choices", c_void_p),
        ("increasing", c_int64),
        ("axis", c_int64),
        ("low", c_double),
        ("high", c_double),
        ("sum", c_double),
        ("tolerance", c_double),
    ]


class Found(ctypes.Structure):
    """Report in expect.h."""

    _fields_ = [
        ("rule", c_int64),
        ("broken", c_int64),
        ("total", c_int64),
        ("found", c_int64),
        ("axis", c_int64),
        ("size", c_int64),
        ("other", c_int64),
        ("nan", c_int64),
        ("inf", c_int64),
        ("positions", c_int64 * judge.FIRST),
        ("values", c_double * judge.FIRST),
        ("low", c_double),
        ("high", c_double),
    ]


@lru_cache(maxsize=4096)
def plan_of(expected: Expectation, dtype: str) -> Plan:
    """An expectation of values of a dtype, as native code has it."""
    array_dtype = numpy_dtype(dtype)
    plan = Plan(least_rank=expected.least_rank, rest=-1, axis=expected.axis, low=-np.inf, high=np.inf)
    plan.rules = sum(1 << _BITS[rule] for rule in expected.rules if rule != "dtype")
    plan.rank_count, plan.ranks[: len(expected.rank)] = len(expected.rank), expected.rank
    plan.most_elements = expected.max_elements or 0
    plan.increasing = 0 if not expected.increasing else 1 if expected.increasing is True else 2
    plan.sum, plan.tolerance = expected.sums_to or 0.0, expected.tolerance_for(dtype)
    if expected.between is not None:
        plan.low, plan.high = (judge.in_dtype(end, array_dtype) for end in expected.between)
    _put_shape(plan, expected)
    _put_choices(plan, expected, array_dtype)
    return plan


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's dtype for one of TensorFlow's."""
    try:
        return np.dtype(dtype.removeprefix("q"))
    except TypeError:
        import ml_dtypes  # of TensorFlow; without it nothing has such a dtype

        kind: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
        return kind


def _put_shape(plan: Plan, expected: Expectation) -> None:
    dims = [dim for dim in expected.shape or () if dim is not ...]
    plan.dim_count = len(dims)
    plan.rest = (expected.shape or ()).index(...) if ... in (expected.shape or ()) else -1
    for at, dim in enumerate(dims):
        plan.dim_kind[at] = _ANY if dim is None else _NAMED if isinstance(dim, str) else _FIXED
        plan.dim_value[at] = 0 if dim is None else number_of(dim) if isinstance(dim, str) else dim


def _put_choices(plan: Plan, expected: Expectation, dtype: np.dtype[Any]) -> None:
    if expected.one_of is None or isinstance(expected.one_of[0], bytes):
        return
    choices = np.unique(np.array([judge.in_dtype(float(one), dtype) for one in expected.one_of]))
    plan.choice_count, plan.choices = len(choices), choices.ctypes.data
    plan.kept = choices  # its memory is pointed to


def judge_values(expected: Expectation, array: Any) -> Report | None:
    """As judge.judge_values does, in native code where that can."""
    native, dtype = loader.load_if_there(), dtype_name(array.dtype)
    if native is None or dtype not in NUMBERS or array.ndim > 8 or not array.dtype.isnative:
        return judge.judge_values(expected, array)
    rules = [rule for rule in expected.of_values if rule != "that"]
    if rules:
        array = np.ascontiguousarray(array).reshape(array.shape)
        view = loader.TensorView(array.ctypes.data, array.size, array.nbytes, NUMBERS[dtype], array.ndim)
        view.dims[: array.ndim] = array.shape
        found = Found()
        if not native.expect_judge(ctypes.byref(plan_of(expected, dtype)), ctypes.byref(view), ctypes.byref(found)):
            return report_of(found, array)
    return judge.judge_that(expected, array) if expected.that is not None else None


def report_of(found: Found, array: Any = None) -> Report:
    """Return the native report, without what only its caller knows."""
    rule, number = RULE_OF_BIT[found.rule], found.found
    if rule in ("rank", "shape", "max_elements"):
        return Report(rule)
    positions, values = tuple(found.positions[:number]), tuple(found.values[:number])
    if array is not None and rule == "finite" and array.dtype.kind == "c":
        values = tuple(array.ravel()[list(positions)].tolist())
    low, high = (found.low, found.high) if found.low <= found.high else (np.nan, np.nan)
    report = Report(rule, found.broken, found.total, positions, values)
    if rule in ("between", "sums_to"):
        report = report._replace(low=low, high=high)
    return report._replace(nan=found.nan, inf=found.inf) if rule in ("finite", "between", "sums_to") else report
