"""Evaluates conditions in the native library, or in Python if the library is missing."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.condition import Condition
from tensorsleuth.live.breakpoints.python_evaluator import holds
from tensorsleuth.live.breakpoints.tensor_in_memory import TensorInMemory, array_tensor, native_tensor
from tensorsleuth.native import loader, numpy_health
from tensorsleuth.recording.backends.sink import Sink, tensor_view
from tensorsleuth.recording.tensorflow import internals as tf

MAX_CONDITIONS = 62  # active at one time; kMost in native/src/observers/breaks.h
NOT_FOR_GUARD = 1 << 63
OnHit = Callable[
    [int, TensorInMemory], int
]  # (number of the condition, the tensor) -> number of the alarm to stop for, or 0


class ConditionEvaluator(Protocol):
    """Judges each tensor when the sink records it."""

    def set_on_hit(self, on_hit: OnHit | None) -> None: ...
    def set_condition(self, number: int, condition: Condition, floats_only: bool) -> None: ...
    def activate(self, number: int, on: bool, everywhere: bool = False) -> None: ...
    def set_conditions(self, tensor: int, conditions: int) -> None: ...
    def judge(self, conditions: int, tensor: Any, number: int) -> None: ...
    def record_fully_until(self, until: int) -> None: ...
    def take_stop(self) -> int: ...
    def call_of(self, tensor_in_memory: TensorInMemory) -> int | None: ...
    def forget(self) -> None: ...


def evaluator_for(sink: Sink) -> ConditionEvaluator:
    return NativeEvaluator(sink.native) if sink.native is not None else PythonEvaluator(sink)


class NativeEvaluator:
    """Judges in the native probe."""

    def __init__(self, native: loader.Native) -> None:
        self._native = native
        self.forget()

    def set_on_hit(self, on_hit: OnHit | None) -> None:
        if on_hit is None:
            self._native.break_tell(loader.BreakCallback())
            return

        def told(number: int, view: Any, where: Any, health: Any) -> int:
            change = self._native.break_change()
            return on_hit(number, native_tensor(view.contents, where.contents, health.contents, change))

        callback = loader.BreakCallback(told)
        _kept_callbacks.append(callback)  # never freed: a thread of TensorFlow's may still be in it
        self._native.break_tell(callback)

    def set_condition(self, number: int, condition: Condition, floats_only: bool) -> None:
        flat = [float(part) for instruction in condition.code for part in instruction]
        code = (ctypes.c_double * len(flat))(*flat)
        self._native.break_set(number, int(condition.needs), floats_only, code, len(condition.code))

    def activate(self, number: int, on: bool, everywhere: bool = False) -> None:
        self._native.break_activate(number, on, everywhere)

    def set_conditions(self, tensor: int, conditions: int) -> None:
        self._native.break_on(tensor, conditions)

    def judge(self, conditions: int, tensor: Any, number: int) -> None:
        view, array = tensor_view(tensor)
        uid = tensor._id
        row_place = loader.RowPlace(self._native.latest_call(), number, uid & 0xFFFF_FFFF, uid >> 32, EventKind.EAGER)
        self._native.break_judge(conditions, view, row_place)
        del array  # it kept the tensor's memory alive until here

    def record_fully_until(self, until: int) -> None:
        self._native.break_closely(until)

    def take_stop(self) -> int:
        return int(self._native.break_take_stop())

    def call_of(self, tensor_in_memory: TensorInMemory) -> int | None:
        """Return the call of a tensor. If its step is not linked to a call yet, assume the latest call."""
        if tensor_in_memory.kind is EventKind.EAGER:
            return tensor_in_memory.run
        return int(self._native.call_of_step(tensor_in_memory.run) or self._native.latest_call()) or None

    def forget(self) -> None:
        self._native.break_forget()


_kept_callbacks: list[Any] = []


class PythonEvaluator:
    """Judges tensors in Python."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._on_hit: OnHit | None = None
        self._stop = threading.local()
        self._conditions: dict[int, Condition] = {}
        self._floats_only: frozenset[int] = frozenset()
        self._sets: dict[int, int] = {}
        self._before: dict[int, Array] = {}
        self._active = self._everywhere = 0
        self._until = -1
        sink.bench = self

    def set_on_hit(self, on_hit: OnHit | None) -> None:
        self._on_hit = on_hit

    def set_condition(self, number: int, condition: Condition, floats_only: bool) -> None:
        self._conditions[number] = condition
        self._floats_only = self._floats_only | {number} if floats_only else self._floats_only - {number}

    def activate(self, number: int, on: bool, everywhere: bool = False) -> None:
        bit = 1 << number
        self._active = self._active | bit if on else self._active & ~bit
        self._everywhere = self._everywhere | bit if everywhere else self._everywhere & ~bit

    def set_conditions(self, tensor: int, conditions: int) -> None:
        self._sets[tensor] = conditions

    def forget(self) -> None:
        for known in (self._conditions, self._sets, self._before):
            known.clear()
        self._floats_only = frozenset()
        self._active = self._everywhere = 0
        self._until = -1

    def conditions_on(self, tensor: int) -> int:
        return (self._sets.get(tensor, 0) | self._everywhere) & self._active

    def closer(self, mode: int, tensor: int) -> int:
        """Return the more detailed of two modes: this one, and the mode that the tensor's conditions need."""
        if self._sink.step <= self._until:
            return Mode.FULL_TENSOR
        asked = self.conditions_on(tensor)
        return max([mode, *(one.needs for number, one in self._conditions.items() if asked >> number & 1)])

    def saw(self, array: Any, dtype: int, where: tuple[int, int, int, int], kind: EventKind, health: Any) -> None:
        asked = self.conditions_on(where[0])
        if asked and array is not None:
            self._judge(asked, array_tensor(array, dtype, where, kind, health))

    def _judge(self, asked: int, tensor_in_memory: TensorInMemory) -> None:
        changed = any("change" in one.words for number, one in self._conditions.items() if asked >> number & 1)
        tensor_in_memory = (
            replace(tensor_in_memory, change=self._change(tensor_in_memory)) if changed else tensor_in_memory
        )
        facts = tensor_in_memory.facts(self._sink.step)
        skipped = (
            self._floats_only
            if dtype_of(tensor_in_memory.dtype).kind not in (DTypeKind.FLOAT, DTypeKind.COMPLEX)
            else ()
        )
        for number, condition in list(self._conditions.items()):
            if asked >> number & 1 and number not in skipped and self._on_hit is not None and holds(condition, facts):
                self._stop.hit = self._on_hit(number, tensor_in_memory) or getattr(self._stop, "hit", 0)

    def _change(self, tensor_in_memory: TensorInMemory) -> float:
        now = tensor_in_memory.read()
        if now is None:
            return math.nan
        before = self._before.get(tensor_in_memory.tensor)
        self._before[tensor_in_memory.tensor] = now
        if before is None or before.shape != now.shape or before.dtype != now.dtype:
            return math.nan
        with np.errstate(all="ignore"):
            difference = float(np.linalg.norm((now - before).astype(np.complex128)))
            size = float(np.linalg.norm(before.astype(np.complex128)))
        if math.isnan(difference):
            return math.inf  # a NaN appeared or disappeared, which exceeds any finite change
        return 0.0 if not difference else difference / size if size else math.nan

    def judge(self, conditions: int, tensor: Any, number: int) -> None:
        asked = conditions & self._active
        if asked:
            array, dtype, uid = tf.array_of(tensor), tensor._datatype_enum(), tensor._id
            where = number, self._sink.latest_call, uid & 0xFFFF_FFFF, uid >> 32
            health = numpy_health.measure_health(array, dtype, Mode.FULL_NUMERICS)
            self._judge(asked, array_tensor(array, dtype, where, EventKind.EAGER, health))

    def record_fully_until(self, until: int) -> None:
        self._until = until

    def take_stop(self) -> int:
        taken = getattr(self._stop, "hit", 0)
        self._stop.hit = 0
        return int(taken)

    def call_of(self, tensor_in_memory: TensorInMemory) -> int | None:
        return tensor_in_memory.run or None
