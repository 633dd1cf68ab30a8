"""The evaluation of conditions: in the native library, or else in Python. One session at a time."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import Kind, dtype_of
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.condition import Condition
from tensorsleuth.live.breakpoints.python_evaluator import holds
from tensorsleuth.live.breakpoints.tensor_in_memory import Sight, array_sight, native_sight
from tensorsleuth.native import loader, numpy_health
from tensorsleuth.recording.backends.sink import Sink, tensor_view
from tensorsleuth.recording.tensorflow import internals as tf

MOST = 62  # conditions at a time; kMost in native/src/observers/breaks.h
NOT_GUARDS = 1 << 63
OnHit = Callable[[int, Sight], int]  # number of the condition, what was seen -> number of the hit to stop for, or 0


class Bench(Protocol):
    """Judges tensors as they are noted."""

    def tell(self, on_hit: OnHit | None) -> None: ...
    def set(self, number: int, condition: Condition, floats_only: bool) -> None: ...
    def activate(self, number: int, on: bool, everywhere: bool = False) -> None: ...
    def put(self, tensor: int, conditions: int) -> None: ...
    def judge(self, conditions: int, tensor: Any, number: int) -> None: ...
    def closely(self, until: int) -> None: ...
    def take_stop(self) -> int: ...
    def call_of(self, sight: Sight) -> int | None: ...
    def forget(self) -> None: ...


def bench_of(sink: Sink) -> Bench:
    return NativeBench(sink.native) if sink.native is not None else PlainBench(sink)


class NativeBench:
    """Judges in the probe itself."""

    def __init__(self, native: loader.Native) -> None:
        self._native = native
        self.forget()

    def tell(self, on_hit: OnHit | None) -> None:
        if on_hit is None:
            self._native.break_tell(loader.Hit())
            return

        def told(number: int, view: Any, where: Any, health: Any) -> int:
            change = self._native.break_change()
            return on_hit(number, native_sight(view.contents, where.contents, health.contents, change))

        callback = loader.Hit(told)
        _kept.append(callback)  # a thread of TensorFlow's may be in it: it stays for good
        self._native.break_tell(callback)

    def set(self, number: int, condition: Condition, floats_only: bool) -> None:
        flat = [float(part) for instruction in condition.code for part in instruction]
        code = (ctypes.c_double * len(flat))(*flat)
        self._native.break_set(number, int(condition.needs), floats_only, code, len(condition.code))

    def activate(self, number: int, on: bool, everywhere: bool = False) -> None:
        self._native.break_activate(number, on, everywhere)

    def put(self, tensor: int, conditions: int) -> None:
        self._native.break_on(tensor, conditions)

    def judge(self, conditions: int, tensor: Any, number: int) -> None:
        view, array = tensor_view(tensor)
        uid = tensor._id
        where = loader.Where(self._native.latest_call(), number, uid & 0xFFFF_FFFF, uid >> 32, EventKind.EAGER)
        self._native.break_judge(conditions, view, where)
        del array  # held its memory until here

    def closely(self, until: int) -> None:
        self._native.break_closely(until)

    def take_stop(self) -> int:
        return int(self._native.break_take_stop())

    def call_of(self, sight: Sight) -> int | None:
        """The call that a tensor belongs to; what has not said so yet is taken for the latest."""
        if sight.kind is EventKind.EAGER:
            return sight.run
        return int(self._native.call_of_step(sight.run) or self._native.latest_call()) or None

    def forget(self) -> None:
        self._native.break_forget()


_kept: list[Any] = []


class PlainBench:
    """Judges in Python."""

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

    def tell(self, on_hit: OnHit | None) -> None:
        self._on_hit = on_hit

    def set(self, number: int, condition: Condition, floats_only: bool) -> None:
        self._conditions[number] = condition
        self._floats_only = self._floats_only | {number} if floats_only else self._floats_only - {number}

    def activate(self, number: int, on: bool, everywhere: bool = False) -> None:
        bit = 1 << number
        self._active = self._active | bit if on else self._active & ~bit
        self._everywhere = self._everywhere | bit if everywhere else self._everywhere & ~bit

    def put(self, tensor: int, conditions: int) -> None:
        self._sets[tensor] = conditions

    def forget(self) -> None:
        for known in (self._conditions, self._sets, self._before):
            known.clear()
        self._floats_only = frozenset()
        self._active = self._everywhere = 0
        self._until = -1

    def asked(self, tensor: int) -> int:
        return (self._sets.get(tensor, 0) | self._everywhere) & self._active

    def closer(self, mode: int, tensor: int) -> int:
        """Return the mode for a tensor."""
        if self._sink.step <= self._until:
            return Mode.FULL_TENSOR
        asked = self.asked(tensor)
        return max([mode, *(one.needs for number, one in self._conditions.items() if asked >> number & 1)])

    def saw(self, array: Any, dtype: int, where: tuple[int, int, int, int], kind: EventKind, health: Any) -> None:
        asked = self.asked(where[0])
        if asked and array is not None:
            self._judge(asked, array_sight(array, dtype, where, kind, health))

    def _judge(self, asked: int, sight: Sight) -> None:
        changed = any("change" in one.words for number, one in self._conditions.items() if asked >> number & 1)
        sight = replace(sight, change=self._change(sight)) if changed else sight
        facts = sight.facts(self._sink.step)
        skipped = self._floats_only if dtype_of(sight.dtype).kind not in (Kind.FLOAT, Kind.COMPLEX) else ()
        for number, condition in list(self._conditions.items()):
            if asked >> number & 1 and number not in skipped and self._on_hit is not None and holds(condition, facts):
                self._stop.hit = self._on_hit(number, sight) or getattr(self._stop, "hit", 0)

    def _change(self, sight: Sight) -> float:
        now = sight.read()
        if now is None:
            return math.nan
        before = self._before.get(sight.tensor)
        self._before[sight.tensor] = now
        if before is None or before.shape != now.shape or before.dtype != now.dtype:
            return math.nan
        with np.errstate(all="ignore"):
            difference = float(np.linalg.norm((now - before).astype(np.complex128)))
            size = float(np.linalg.norm(before.astype(np.complex128)))
        if math.isnan(difference):
            return math.inf  # a NaN came or went: nothing is more
        return 0.0 if not difference else difference / size if size else math.nan

    def judge(self, conditions: int, tensor: Any, number: int) -> None:
        asked = conditions & self._active
        if asked:
            array, dtype, uid = tf.array_of(tensor), tensor._datatype_enum(), tensor._id
            where = number, self._sink.latest_call, uid & 0xFFFF_FFFF, uid >> 32
            health = numpy_health.look(array, dtype, Mode.FULL_NUMERICS)
            self._judge(asked, array_sight(array, dtype, where, EventKind.EAGER, health))

    def closely(self, until: int) -> None:
        self._until = until

    def take_stop(self) -> int:
        taken = getattr(self._stop, "hit", 0)
        self._stop.hit = 0
        return int(taken)

    def call_of(self, sight: Sight) -> int | None:
        return sight.run or None
