"""Assigns numbers to the expectations in graphs, and handles violations on the thread that computed the tensor."""

from __future__ import annotations

import atexit
import ctypes
import itertools
import os
from ctypes import CFUNCTYPE, POINTER, c_int64, c_uint64
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.threads.gc_pause import GcPauseLock, no_collection
from tensorsleuth.live.expect import native_judge
from tensorsleuth.live.expect.dimension_names import NamedSizes
from tensorsleuth.live.expect.expectation import Expectation
from tensorsleuth.live.expect.judge import judge_form, judge_that, judge_values
from tensorsleuth.live.expect.report import JudgeReport, make_violation, pair_dims
from tensorsleuth.native import loader
from tensorsleuth.recording.calling_line import ProgramLine
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.tensorflow import custom_ops
from tensorsleuth.recording.violations.actions import handle_violation
from tensorsleuth.recording.violations.pending_errors import alarm_in, raise_later

# How many milliseconds the program's end waits for TensorFlow's threads to leave Python.
DRAIN_MILLISECONDS = 5000


@dataclass(frozen=True)
class TensorExpectation:
    """An expectation of one tensor of one graph."""

    expected: Expectation
    name: str
    place: ProgramLine
    dtype: str


_numbers: dict[TensorExpectation, int] = {}
_expectations: dict[int, TensorExpectation] = {}
_next = itertools.count(1)
_lock = GcPauseLock()


def expectation_number(tensor_expectation: TensorExpectation) -> int:
    with _lock:
        if tensor_expectation not in _numbers:
            _numbers[tensor_expectation] = next(_next)
            _expectations[_numbers[tensor_expectation]] = tensor_expectation
        return _numbers[tensor_expectation]


_Tell = CFUNCTYPE(c_int64, c_int64, POINTER(loader.TensorView), POINTER(native_judge.NativeReport), c_uint64, c_int64)


@cache
def listen() -> Any:
    """Receive violations from native code. Return the callback, which must stay alive."""
    custom_ops.watch_failures(alarm_in)
    native = loader.load()
    assert native is not None
    told = _Tell(_on_violation)
    native.expect_tell(ctypes.cast(told, ctypes.c_void_p))
    atexit.register(_end)
    os.register_at_fork(after_in_child=native.expect_abandon)
    return told


def _end() -> None:
    """Prevent calls from native code into Python while the program ends."""
    native = loader.load()
    assert native is not None
    native.expect_tell(None)
    native.expect_drain(DRAIN_MILLISECONDS)


def _on_violation(number: int, view: Any, found: Any, step: int, iteration: int) -> int:
    """Handle a violation. No exception may leave this function; it returns the number of the error to raise."""
    with no_collection():
        try:
            asked = _expectations[number]
            error = act_on(asked, _report(asked, view[0], found[0]), _shape(view[0]), iteration)
        except Exception as raised:  # from the user's function, or from a warning that is turned into an error
            error = raised
        return raise_later(error) if error is not None else 0


def _report(
    tensor_expectation: TensorExpectation, view: loader.TensorView, native_report: native_judge.NativeReport
) -> JudgeReport | None:
    if native_judge.RULE_OF_BIT[native_report.rule] == "that":
        array = _copied(view, tensor_expectation.dtype)
        return judge_that(tensor_expectation.expected, array) if array is not None else None
    report = native_judge.report_of(native_report)
    if report.rule != "shape" or native_report.other < 0 or native_report.axis < 0:
        return report
    pairs = pair_dims(tensor_expectation.expected.shape or (), list(range(view.rank)))
    dim = next(dim for axis, dim in pairs if axis == native_report.axis)
    return (
        report._replace(dim=dim, size=native_report.size, other=_expectations[native_report.other].place)
        if isinstance(dim, str)
        else report
    )


def _shape(view: loader.TensorView) -> tuple[int, ...] | None:
    return tuple(view.dims[: view.rank]) if view.rank <= 8 else None


def _copied(view: loader.TensorView, dtype: str) -> Array | None:
    """Return a copy of the value, since TensorFlow will reuse its memory."""
    shape = _shape(view)
    if shape is None:
        return None
    kind = native_judge.numpy_dtype(dtype)
    return (
        np.frombuffer(ctypes.string_at(view.data, view.bytes), kind).reshape(shape)
        if view.bytes
        else np.zeros(shape, kind)
    )


def act_on(
    tensor_expectation: TensorExpectation,
    judge_report: JudgeReport | None,
    shape: tuple[int, ...] | None,
    iteration: int = 0,
) -> Alarm:
    """React to a violation as the user wished, and return the error to raise, if any."""
    if judge_report is None:
        return None
    broken = make_violation(
        tensor_expectation.expected,
        judge_report,
        tensor_expectation.name,
        tensor_expectation.dtype,
        shape,
        tensor_expectation.place,
    )
    if iteration:
        broken = replace(broken, where=f"iteration {iteration} of its loop")
    return handle_violation(broken, tensor_expectation.expected.on_violation)


def judge_in_python(tensor_expectation: TensorExpectation, array: Array) -> int:
    """Judge an array if no kernel can. Return the number of the error to raise, or 0."""
    with no_collection():
        try:
            known: NamedSizes = {}
            report = judge_form(
                tensor_expectation.expected, tensor_expectation.dtype, array.shape, known, tensor_expectation.place
            )
            report = report if report is not None else judge_values(tensor_expectation.expected, array)
            error = act_on(tensor_expectation, report, array.shape)
        except Exception as raised:
            error = raised
        return raise_later(error) if error is not None else 0
