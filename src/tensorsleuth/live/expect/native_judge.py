"""Judges numbers in the native library, if it is loaded. The structs are those of expect.h."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int64, c_void_p
from functools import lru_cache
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import DTYPES, DTypeKind
from tensorsleuth.live.expect import judge
from tensorsleuth.live.expect.dimension_names import dimension_number
from tensorsleuth.live.expect.expectation import MAX_DIMS, MAX_RANKS, Expectation, dtype_name
from tensorsleuth.live.expect.report import JudgeReport
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
DTYPE_NUMBERS = {dtype.name: number for number, dtype in DTYPES.items() if dtype.kind is not DTypeKind.OTHER}
_ANY, _FIXED, _NAMED = 0, 1, 2


class ExpectationPlan(ctypes.Structure):
    """The struct `Plan` in expect.h."""

    _fields_ = [
        ("rules", c_int64),
        ("rank_count", c_int64),
        ("ranks", c_int64 * MAX_RANKS),
        ("least_rank", c_int64),
        ("dim_count", c_int64),
        ("rest", c_int64),
        ("dim_kind", c_int64 * MAX_DIMS),
        ("dim_value", c_int64 * MAX_DIMS),
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


class NativeReport(ctypes.Structure):
    """The struct `Report` in expect.h."""

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
        ("positions", c_int64 * judge.MAX_POSITIONS),
        ("values", c_double * judge.MAX_POSITIONS),
        ("low", c_double),
        ("high", c_double),
    ]


@lru_cache(maxsize=4096)
def plan_of(expected: Expectation, dtype: str) -> ExpectationPlan:
    """Return the native form of an expectation for values of a dtype."""
    array_dtype = numpy_dtype(dtype)
    expectation_plan = ExpectationPlan(
        least_rank=expected.least_rank, rest=-1, axis=expected.axis, low=-np.inf, high=np.inf
    )
    expectation_plan.rules = sum(1 << _BITS[rule] for rule in expected.rules if rule != "dtype")
    expectation_plan.rank_count, expectation_plan.ranks[: len(expected.rank)] = len(expected.rank), expected.rank
    expectation_plan.most_elements = expected.max_elements or 0
    expectation_plan.increasing = 0 if not expected.increasing else 1 if expected.increasing is True else 2
    expectation_plan.sum, expectation_plan.tolerance = expected.sums_to or 0.0, expected.tolerance_for(dtype)
    if expected.between is not None:
        expectation_plan.low, expectation_plan.high = (
            judge.round_to_dtype(end, array_dtype) for end in expected.between
        )
    _put_shape(expectation_plan, expected)
    _put_choices(expectation_plan, expected, array_dtype)
    return expectation_plan


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Return NumPy's dtype for the name of a TensorFlow dtype."""
    try:
        return np.dtype(dtype.removeprefix("q"))
    except TypeError:
        import ml_dtypes  # a dependency of TensorFlow; without it no value can have such a dtype

        kind: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
        return kind


def _put_shape(expectation_plan: ExpectationPlan, expected: Expectation) -> None:
    dims = [dim for dim in expected.shape or () if dim is not ...]
    expectation_plan.dim_count = len(dims)
    expectation_plan.rest = (expected.shape or ()).index(...) if ... in (expected.shape or ()) else -1
    for at, dim in enumerate(dims):
        expectation_plan.dim_kind[at] = _ANY if dim is None else _NAMED if isinstance(dim, str) else _FIXED
        expectation_plan.dim_value[at] = 0 if dim is None else dimension_number(dim) if isinstance(dim, str) else dim


def _put_choices(expectation_plan: ExpectationPlan, expected: Expectation, dtype: np.dtype[Any]) -> None:
    if expected.one_of is None or isinstance(expected.one_of[0], bytes):
        return
    choices = np.unique(np.array([judge.round_to_dtype(float(one), dtype) for one in expected.one_of]))
    expectation_plan.choice_count, expectation_plan.choices = len(choices), choices.ctypes.data
    expectation_plan.kept = choices  # keeps the memory alive that the plan points to


def judge_values(expected: Expectation, array: Any) -> JudgeReport | None:
    """Judge values like judge.judge_values, in native code if possible."""
    native, dtype = loader.load_with_tensorflow(), dtype_name(array.dtype)
    if native is None or dtype not in DTYPE_NUMBERS or array.ndim > 8 or not array.dtype.isnative:
        return judge.judge_values(expected, array)
    rules = [rule for rule in expected.value_rules if rule != "that"]
    if rules:
        array = np.ascontiguousarray(array).reshape(array.shape)
        view = loader.TensorView(array.ctypes.data, array.size, array.nbytes, DTYPE_NUMBERS[dtype], array.ndim)
        view.dims[: array.ndim] = array.shape
        native_report = NativeReport()
        if not native.expect_judge(
            ctypes.byref(plan_of(expected, dtype)), ctypes.byref(view), ctypes.byref(native_report)
        ):
            return report_of(native_report, array)
    return judge.judge_that(expected, array) if expected.that is not None else None


def report_of(native_report: NativeReport, array: Any = None) -> JudgeReport:
    """Return the native report, without the fields that only its caller knows."""
    rule, number = RULE_OF_BIT[native_report.rule], native_report.found
    if rule in ("rank", "shape", "max_elements"):
        return JudgeReport(rule)
    positions, values = tuple(native_report.positions[:number]), tuple(native_report.values[:number])
    if array is not None and rule == "finite" and array.dtype.kind == "c":
        values = tuple(array.ravel()[list(positions)].tolist())
    low, high = (native_report.low, native_report.high) if native_report.low <= native_report.high else (np.nan, np.nan)
    judge_report = JudgeReport(rule, native_report.broken, native_report.total, positions, values)
    if rule in ("between", "sums_to"):
        judge_report = judge_report._replace(low=low, high=high)
    return (
        judge_report._replace(nan=native_report.nan, inf=native_report.inf)
        if rule in ("finite", "between", "sums_to")
        else judge_report
    )
