"""The native judge and that of NumPy say the same; so do the plain ops that XLA compiles."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays
from tests.thorough import examples

from tensorsleuth.live.expect import judge, native_judge
from tensorsleuth.live.expect.expectation import Expectation
from tensorsleuth.live.expect.report import JudgeReport
from tensorsleuth.native import loader

DTYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint16", "bool", "complex64"]
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
FEW = some.sampled_from([0.0, 1.0, -1.0, 2.0, 0.5, 100.0, math.nan, math.inf, -math.inf])


@some.composite
def values(draw: Any) -> Any:
    dtype = np.dtype(draw(some.sampled_from(DTYPES)))
    shape = draw(SHAPES)
    if dtype.kind in "fc":
        return np.array(draw(arrays.arrays(np.float64, shape, elements=FEW)), dtype)
    low, high = (0, 1) if dtype.kind == "b" else (0 if dtype.kind == "u" else -3, 3)
    return draw(arrays.arrays(np.int8, shape, elements=some.integers(low, high))).astype(dtype)


@some.composite
def expectations(draw: Any) -> Expectation:
    return Expectation(
        finite=draw(some.booleans()),
        between=draw(some.sampled_from([None, (0.0, 1.0), (-math.inf, 0.1), (-1.0, math.inf)])),
        one_of=draw(some.sampled_from([None, (0,), (-1, 0, 1, 2), (0.5, 1.0)])),
        increasing=draw(some.sampled_from([False, True, "or equal"])),
        sums_to=draw(some.sampled_from([None, 0.0, 1.0, 3.5])),
        axis=draw(some.sampled_from([-1, 0])),
    )


def told(report: JudgeReport | None) -> Any:
    """Without the range of what is not finite; NaN is one thing."""
    return None if report is None else repr(report).replace("-0.0", "0.0")


@settings(max_examples=examples(400), deadline=None)
@given(values(), expectations())
def test_native_and_numpy_judge_alike(array: Any, expected: Expectation) -> None:
    assert tf.__version__ and loader.load() is not None
    if array.dtype.kind == "c":
        expected = Expectation(finite=True)
    assert told(native_judge.judge_values(expected, array)) == told(judge.judge_values(expected, array))


def test_bfloat16_and_layouts() -> None:
    array = tf.cast(tf.constant([[0.1, 2.0], [math.nan, 0.5]]), tf.bfloat16).numpy()
    expected = Expectation(between=(0.1, 1.0))
    for one in (array, array.T, array[:, ::-1]):
        assert told(native_judge.judge_values(expected, one)) == told(judge.judge_values(expected, one))


def test_structs_are_as_large_as_in_native_code() -> None:
    native = loader.load()
    assert native is not None
    assert native.expect_sizes() == ctypes.sizeof(native_judge.ExpectationPlan) << 16 | ctypes.sizeof(
        native_judge.NativeReport
    )
