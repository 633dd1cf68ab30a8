"""Judges an array with NumPy: the twin of native/src/ops/expect_judge.cc, and the fallback without the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.expect.dimension_names import NamedSizes, bind_sizes
from tensorsleuth.live.expect.expectation import VALUE_RULES, Expectation, dtype_name
from tensorsleuth.live.expect.report import JudgeReport, pair_dims
from tensorsleuth.recording.calling_line import ProgramLine

MAX_POSITIONS = 5  # positions and values in one report
Mask = npt.NDArray[np.bool_]


def judge_form(
    expected: Expectation,
    dtype: str,
    shape: Sequence[int | None] | None,
    named_sizes: NamedSizes,
    program_line: ProgramLine,
) -> JudgeReport | None:
    """Judge dtype and shape. An unknown size or shape passes."""
    if expected.dtype and dtype not in expected.dtype:
        return JudgeReport("dtype")
    if shape is None:
        return None
    if expected.rank and len(shape) not in expected.rank:
        return JudgeReport("rank")
    broken = _judge_shape(expected, shape, named_sizes, program_line)
    if broken is not None:
        return broken
    if len(shape) < expected.least_rank:
        return JudgeReport("rank")
    elements = math.prod(size for size in shape if size is not None)
    whole = None not in shape
    return (
        JudgeReport("max_elements")
        if whole and expected.max_elements is not None and elements > expected.max_elements
        else None
    )


def _judge_shape(
    expected: Expectation, shape: Sequence[int | None], named_sizes: NamedSizes, program_line: ProgramLine
) -> JudgeReport | None:
    dims = expected.shape
    if dims is None:
        return None
    said = len(dims) - (... in dims)
    if len(shape) < said or (len(shape) != said and ... not in dims):
        return JudgeReport("shape")
    pairs = pair_dims(dims, shape)
    if any(isinstance(dim, int) and size is not None and size != dim for size, dim in pairs):
        return JudgeReport("shape")
    return bind_sizes(named_sizes, pairs, program_line)


def judge_values(expected: Expectation, array: Array) -> JudgeReport | None:
    """Judge the values. The user's function `that` comes last."""
    return next((found for rule in expected.value_rules if (found := _RULES[rule](expected, array)) is not None), None)


def check_dtype_fits(expected: Expectation, dtype: str) -> None:
    """Raise SleuthError if a rule cannot apply to values of this dtype."""
    fit = _RULES_OF_DTYPE.get("complex" if dtype.startswith("complex") else dtype, VALUE_RULES)
    wrong = [rule for rule in expected.value_rules if rule not in fit]
    if expected.one_of is not None and isinstance(expected.one_of[0], bytes) is not (dtype == "string"):
        wrong.append("one_of")
    if wrong:
        fitting = ", ".join(("dtype", "rank", "shape", *(rule for rule in fit if rule != wrong[-1])))
        raise SleuthError(
            f"expect({wrong[-1]}=…): values of dtype {dtype} cannot be checked by that rule. Use {fitting}."
        )


_RULES_OF_DTYPE = {"string": ("one_of", "that"), "complex": ("finite", "that"), "resource": (), "variant": ()}


def round_to_dtype(number: float, array_dtype: np.dtype[Any]) -> float:
    """Round a bound to a dtype. For example, 0.1 in float32 is not exactly 0.1."""
    if array_dtype.kind not in "fV" or not math.isfinite(number):  # V: bfloat16 and similar dtypes
        return number
    with np.errstate(over="ignore"):
        rounded = float(np.array(number).astype(array_dtype))
    return rounded if math.isfinite(rounded) else number


def _doubles(array: Array) -> npt.NDArray[np.float64]:
    return array.astype(np.float64)


def _count(rule: str, bad: Mask, values: Array, spread: Array | None = None) -> JudgeReport | None:
    """Return a report of the bad elements, if any, with the range of the values in `spread`."""
    flat = np.flatnonzero(bad)
    if not len(flat):
        return None
    first = tuple(int(at) for at in flat[:MAX_POSITIONS])
    told = tuple(values.ravel()[list(first)].tolist())
    judge_report = JudgeReport(rule, len(flat), bad.size, first, told)
    return judge_report if spread is None else judge_report._replace(**_range(spread))


def _range(values: Array) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (math.nan, math.nan)
    return {"low": low, "high": high} | _not_finite(values)


def _not_finite(values: Array) -> dict[str, Any]:
    nan = np.isnan(values)
    return {"nan": int(nan.sum()), "inf": int((np.isinf(values) & ~nan).sum())}


def _finite(expected: Expectation, array: Array) -> JudgeReport | None:
    if array.dtype.kind in "iub":
        return None
    values = array if array.dtype.kind == "c" else _doubles(array)
    report = _count("finite", ~np.isfinite(values), values)
    return report._replace(**_not_finite(values)) if report is not None else None


def _between(expected: Expectation, array: Array) -> JudgeReport | None:
    assert expected.between is not None
    low, high = (round_to_dtype(end, array.dtype) for end in expected.between)
    values = _doubles(array)
    return _count("between", ~((values >= low) & (values <= high)), values, values)


def _one_of(expected: Expectation, array: Array) -> JudgeReport | None:
    choices = expected.one_of or ()
    if isinstance(choices[0], bytes):
        texts = np.array([one.encode() if isinstance(one, str) else one for one in array.ravel().tolist()], object)
        return _count("one_of", np.array([one not in choices for one in texts], bool), texts)
    values = _doubles(array)
    return _count("one_of", ~np.isin(values, [round_to_dtype(float(one), array.dtype) for one in choices]), values)


def _line(array: Array) -> Array:
    return array.reshape(1) if array.ndim == 0 else array


def _increasing(expected: Expectation, array: Array) -> JudgeReport | None:
    values = _line(_doubles(array))
    axis = expected.axis % values.ndim
    after = np.moveaxis(values, axis, 0)
    rises = after[1:] > after[:-1] if expected.increasing is True else after[1:] >= after[:-1]
    bad = np.zeros(after.shape, bool)
    bad[1:] = ~rises
    report = _count("increasing", np.moveaxis(bad, 0, axis), values)
    return report._replace(total=rises.size) if report is not None else None


def _sums(expected: Expectation, array: Array) -> JudgeReport | None:
    assert expected.sums_to is not None
    with np.errstate(invalid="ignore"):
        sums = np.asarray(_line(_doubles(array)).sum(axis=expected.axis))
        good = np.abs(sums - expected.sums_to) <= expected.tolerance_for(dtype_name(array.dtype))
    return _count("sums_to", ~np.asarray(good), sums, sums)


def judge_that(expected: Expectation, array: Array) -> JudgeReport | None:
    """Call the user's function. Its exceptions reach the user."""
    assert expected.that is not None
    said = np.asarray(expected.that(array))
    if said.dtype.kind not in "bO" and said.size != 1:
        raise SleuthError(
            f"expect(that=…): the function returned {said.dtype.name} of shape {list(said.shape)}. "
            "It must return True or False, for all of the value or for each element."
        )
    if said.size == 1 and (array.size != 1 or said.ndim == 0):
        return None if bool(said.ravel()[0]) else JudgeReport("that")
    bad = ~said.astype(bool)
    return _count("that", bad, array if bad.shape == array.shape else np.zeros(bad.shape))


_RULES: dict[str, Callable[[Expectation, Array], JudgeReport | None]] = {
    "finite": _finite,
    "between": _between,
    "one_of": _one_of,
    "increasing": _increasing,
    "sums_to": _sums,
    "that": judge_that,
}
