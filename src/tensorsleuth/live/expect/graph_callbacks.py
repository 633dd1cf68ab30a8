"""Expectations of tensors in graphs, by number; and what is done where one is broken, on the thread that found out."""

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
from tensorsleuth.core.gc_pause import CalmLock, no_collection
from tensorsleuth.live.expect import native_judge
from tensorsleuth.live.expect.dimension_names import Known
from tensorsleuth.live.expect.expectation import Expectation
from tensorsleuth.live.expect.judge import judge_form, judge_that, judge_values
from tensorsleuth.live.expect.report import Report, paired, violation
from tensorsleuth.native import loader
from tensorsleuth.recording.caller import Place
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.tensorflow import custom_ops
from tensorsleuth.recording.violations.actions import act
from tensorsleuth.recording.violations.pending_errors import alarm_in, raise_later

PATIENCE = 5000  # milliseconds that the end of the program waits for threads of TensorFlow's to leave Python


@dataclass(frozen=True)
class Asked:
    """An expectation of one tensor of one graph."""

    expected: Expectation
    name: str
    place: Place
    dtype: str


_numbers: dict[Asked, int] = {}
_asked: dict[int, Asked] = {}
_next = itertools.count(1)
_lock = CalmLock()


def number_of(asked: Asked) -> int:
    with _lock:
        if asked not in _numbers:
            _numbers[asked] = next(_next)
            _asked[_numbers[asked]] = asked
        return _numbers[asked]


_Tell = CFUNCTYPE(c_int64, c_int64, POINTER(loader.TensorView), POINTER(native_judge.Found), c_uint64, c_int64)


@cache
def listen() -> Any:
    """Hear of violations from native code; returns what must stay alive for that."""
    custom_ops.watch_failures(alarm_in)
    native = loader.load()
    assert native is not None
    told = _Tell(_told)
    native.expect_tell(ctypes.cast(told, ctypes.c_void_p))
    atexit.register(_end)
    os.register_at_fork(after_in_child=native.expect_abandon)
    return told


def _end() -> None:
    """The program ends: nothing may call into Python any more."""
    native = loader.load()
    assert native is not None
    native.expect_tell(None)
    native.expect_drain(PATIENCE)


def _told(number: int, view: Any, found: Any, step: int, iteration: int) -> int:
    """On the thread that computed the tensor. Nothing may be raised from here; returns the number of what to raise."""
    with no_collection():
        try:
            asked = _asked[number]
            error = act_on(asked, _report(asked, view[0], found[0]), _shape(view[0]), iteration)
        except Exception as raised:  # of the user's function, or a warning that is an error
            error = raised
        return raise_later(error) if error is not None else 0


def _report(asked: Asked, view: loader.TensorView, found: native_judge.Found) -> Report | None:
    if native_judge.RULE_OF_BIT[found.rule] == "that":
        array = _copied(view, asked.dtype)
        return judge_that(asked.expected, array) if array is not None else None
    report = native_judge.report_of(found)
    if report.rule != "shape" or found.other < 0 or found.axis < 0:
        return report
    pairs = paired(asked.expected.shape or (), list(range(view.rank)))
    dim = next(dim for axis, dim in pairs if axis == found.axis)
    return (
        report._replace(dim=dim, size=found.size, other=_asked[found.other].place) if isinstance(dim, str) else report
    )


def _shape(view: loader.TensorView) -> tuple[int, ...] | None:
    return tuple(view.dims[: view.rank]) if view.rank <= 8 else None


def _copied(view: loader.TensorView, dtype: str) -> Array | None:
    """The value, to keep if one likes: TensorFlow uses its memory again."""
    shape = _shape(view)
    if shape is None:
        return None
    kind = native_judge.numpy_dtype(dtype)
    return (
        np.frombuffer(ctypes.string_at(view.data, view.bytes), kind).reshape(shape)
        if view.bytes
        else np.zeros(shape, kind)
    )


def act_on(asked: Asked, report: Report | None, shape: tuple[int, ...] | None, iteration: int = 0) -> Alarm:
    """Do what is to be done; what to raise for it."""
    if report is None:
        return None
    broken = violation(asked.expected, report, asked.name, asked.dtype, shape, asked.place)
    if iteration:
        broken = replace(broken, where=f"iteration {iteration} of its loop")
    return act(broken, asked.expected.on_violation)


def judged_by_python(asked: Asked, array: Array) -> int:
    """Judge where there is no kernel; the number of what to raise, or 0."""
    with no_collection():
        try:
            known: Known = {}
            report = judge_form(asked.expected, asked.dtype, array.shape, known, asked.place)
            report = report if report is not None else judge_values(asked.expected, array)
            error = act_on(asked, report, array.shape)
        except Exception as raised:
            error = raised
        return raise_later(error) if error is not None else 0
