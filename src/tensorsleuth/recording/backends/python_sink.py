"""Writes a trace from Python with NumPy, if the native library is missing. The files are the same."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import CALL, EVENT, NO_UID, CallKind, EventFlag, EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.native.numpy_health import TensorHealth, measure_health
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.ring_writer import RingWriter, RowMaker
from tensorsleuth.trace.storage.shape_writer import ShapeWriter
from tensorsleuth.trace.storage.size_plan import TracePlan
from tensorsleuth.trace.storage.value_writer import ValueWriter

MAX_REMEMBERED = 1 << 16
INPUTS_PER_ROW = CALL["inputs"].shape[0]
MAX_COUNT = 0xFFFF_FFFF  # the largest count that a row can hold


class _ThreadState(threading.local):
    """The state of the running thread."""

    _numbers = itertools.count(1)

    def __init__(self) -> None:
        self.number = next(self._numbers) & 0xFFFF
        self.forward = 0  # the op that the running gradient function differentiates
        self.scope = 0  # the current name scope of Python


class PythonSink:
    """Records calls and tensors. Any thread may use it."""

    def __init__(self, folder: Folder, plan: TracePlan) -> None:
        say = _only_once(complain)
        self._events = RingWriter(folder / "events.bin", EVENT, plan.events, say)
        self._calls = RingWriter(folder / "calls.bin", CALL, plan.calls, say)
        self._shapes = ShapeWriter(folder, say)
        self._values = ValueWriter(folder, plan.value_bytes, say) if plan.value_bytes else None
        self._numbers = itertools.count(1)
        self._made: dict[int, tuple[int, int]] = {}  # tensor -> the op that made it or first used it; bounded
        self._took: dict[int, tuple[int, int]] = {}
        self._thread = _ThreadState()
        self._step = -1
        self.latest_call = 0
        self._bad_rows = 0
        self._level = 0  # the guard's level: off, on, strict
        self._bad: deque[tuple[int, int, bool]] = deque(maxlen=MAX_REMEMBERED)  # bad tensors of graphs
        self.suspicious = False  # the guard knows of bad tensors, so the hook must ask it before a variable is written
        self.recording = True
        self.native = None
        self.bench: Any = None  # evaluates conditions, see live/breakpoints/
        self.forget_places: Callable[[], None] = lambda: None  # set by the hook

    def next_call(self) -> int:
        self.latest_call = next(self._numbers)
        return self.latest_call

    def call(
        self, kind: CallKind, call: int, op: int, began: int, duration: int, uids: Sequence[int], tf_step: int = 0
    ) -> None:
        row = began, call, self._step, op, self._thread.number
        for at in range(0, max(len(uids), 1), INPUTS_PER_ROW):
            part = uids[at : at + INPUTS_PER_ROW]
            inputs = (*part, *[0] * (INPUTS_PER_ROW - len(part)))
            whole = (*row, len(part), CallKind.MORE_INPUTS if at else kind, duration, tf_step, inputs)
            self._calls.append(_constant_fill(whole))

    def begin_function(self, op: int, inputs: Sequence[Any], began: int) -> tuple[int, Sequence[int]]:
        """Record the call of a function. Return its number, and the indices of the inputs that no recorded op made."""
        number = self.next_call()
        uids = [getattr(tensor, "_id", NO_UID) for tensor in inputs]
        self.call(CallKind.FUNCTION, number, op, began, 0, uids)
        tensors = (at for at, tensor in enumerate(inputs) if isinstance(tensor, tf.EagerTensor))
        return number, [at for at in tensors if not self.maker(uids[at])]

    def note_results(self, op: int, first: int, looks: bytes, call: int, results: Sequence[Any]) -> None:
        """Record the results of a function whose probes have recorded their values."""
        for index, tensor in enumerate(results):
            self.set_maker(tensor._id, op)
            if looks[tensor._datatype_enum()] != DO_NOT_LOOK:
                self.note_tensor(tensor, first + index, call, tensor._id, Mode.NO_TENSOR)

    def begin_call(self, op: int, call: int, began: int) -> None:
        """Do nothing: only native code records running calls."""

    def end_call(self, call: int) -> None:
        pass

    def note_tensor(self, tensor: Any, number: int, call: int, uid: int, look: int) -> bool:
        """Record the output of an eager op, and return whether it is bad."""
        array = tf.array_of(tensor) if look else None
        where = number, call, uid & MAX_COUNT, uid >> 32 & MAX_COUNT
        return self.note(array, tensor._datatype_enum(), look, where, EventKind.EAGER)

    def note_buffer(self, tensor: Any, number: int, call: int) -> None:
        """Do nothing: only the native library records memory addresses of tensors."""

    def note(self, array: Any, dtype: int, mode: int, where: tuple[int, int, int, int], kind: EventKind) -> bool:
        """Record a tensor, and return whether it is bad. `where` is its id, its call or step, and two more fields."""
        if mode == Mode.CURT_HEALTH and self._level:
            mode = Mode.FULL_HEALTH  # the guard needs it, and here it costs no more
        if self.bench is not None and array is not None:
            mode = self.bench.closer(mode, where[0])
        health = TensorHealth(0) if array is None else measure_health(array, dtype, mode)
        shape = 0 if array is None or not mode else self._shapes.number(array.shape)
        flags = flags_of(mode, health)
        tensor, step, iteration, frame = where
        head = step, tensor, shape, iteration, frame, self._thread.number, dtype, kind

        def fill(number: int) -> tuple[Any, ...]:
            kept = self._keep(number, array, dtype, mode)
            return time.monotonic_ns(), *head, flags | kept | saturation_of(health), *_measurements(health)

        number = self._events.append(fill)
        bad = bool(flags & EventFlag.BAD)
        self._bad_rows += bad
        if number is not None and bad:
            self._raise_alarms(number, health)
        if bad and self._level and kind is EventKind.GRAPH and step:
            self._bad.append((step, tensor, health.nan > 0))
        if self.bench is not None:
            self.bench.saw(array, dtype, where, kind, health)
        return bad

    def _keep(self, number: int, array: Any, dtype: int, mode: int) -> EventFlag:
        if self._values is None or mode != Mode.FULL_TENSOR or not dtype_of(dtype).itemsize:
            return EventFlag(0)
        data: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return EventFlag.VALUE if self._values.keep(number, memoryview(data)) else EventFlag(0)

    def _raise_alarms(self, number: int, health: TensorHealth) -> None:
        """Preserve the rows around the first bad row of each kind, and the calls of that time."""
        if self._values is not None and not self._events.alarm:
            self._values.freeze_soon()
        infinities = [kind for kind, count in enumerate((health.pos_inf, health.neg_inf), 1) if count]
        for kind in [*infinities, *([0] if health.nan or not infinities else [])]:  # 0: NaN, or a mode without counts
            self._events.raise_alarm(number, kind)
            self._calls.raise_alarm(self._calls.head, kind)

    def set_maker(self, uid: int, op: int) -> None:
        self._made[uid % MAX_REMEMBERED] = uid, op

    def maker(self, uid: int) -> int:
        key, op = self._made.get(uid % MAX_REMEMBERED, (0, 0))
        return op if key == uid else 0

    def set_taker(self, kind: int, uid: int, op: int) -> None:
        """Note that an op of this type has used the tensor as its first input."""
        key = hash((kind, uid))
        self._took[key % MAX_REMEMBERED] = key, op

    def taker(self, kind: int, uid: int) -> int:
        wanted = hash((kind, uid))
        key, op = self._took.get(wanted % MAX_REMEMBERED, (0, 0))
        return op if key == wanted else 0

    @property
    def forward(self) -> int:
        return self._thread.forward

    @property
    def scope(self) -> int:
        return self._thread.scope

    def set_scope(self, scope: int) -> None:
        self._thread.scope = scope

    def set_forward(self, op: int) -> None:
        self._thread.forward = op

    def set_step(self, step: int) -> None:
        self._step = step

    @property
    def step(self) -> int:
        return self._step

    def keep_values(self, folder: Folder, bound: int) -> None:
        """Keep values from now on, even if the plan had none."""
        if self._values is None:
            self._values = ValueWriter(folder, bound, complain)

    @property
    def strict(self) -> bool:
        return self._level > 1

    def guard(self, level: int, small: int) -> None:
        self._level = level

    def take_bad(self, call: int) -> list[tuple[int, bool]]:
        if not self._bad:
            return []
        rows = [self._bad.popleft() for _ in range(len(self._bad))]
        self._bad.extend(row for row in rows if row[0] != call)
        return [(tensor, nan) for step, tensor, nan in rows if step == call]

    def set_suspicious(self, suspicious: int) -> None:
        self.suspicious = bool(suspicious)

    def name_devices(self, devices: Sequence[str]) -> None:
        """Do nothing: only the pass of the graph optimizer sees the devices of ops."""

    def events(self) -> int:
        return self._events.head

    def alarm(self) -> int:
        return self._events.alarm

    def bad(self) -> int:
        """Return the number of rows with a bad tensor."""
        return self._bad_rows

    def close(self) -> None:
        self.recording = False
        for file in (self._events, self._calls, self._shapes, self._values):
            if file is not None:
                file.close()

    def abandon(self) -> None:
        """Drop the files in a forked child: they belong to the parent."""
        self.recording = False
        for file in (self._events, self._calls, self._shapes, self._values):
            if file is not None:
                file.abandon()


def flags_of(mode: int, tensor_health: TensorHealth) -> EventFlag:
    """Return the event flags that a mode fills in, as native/src/recording.cc does."""
    if mode < Mode.CURT_HEALTH:
        return EventFlag(0)
    flags = EventFlag.LOOKED
    if tensor_health.first_bad != TensorHealth(0).first_bad:
        flags |= EventFlag.BAD
    if mode >= Mode.CONCISE_HEALTH:
        flags |= EventFlag.COUNTED
    if mode >= Mode.FULL_HEALTH:
        flags |= EventFlag.RANGED
    return flags | EventFlag.MOMENTS if mode >= Mode.FULL_NUMERICS else flags


def saturation_of(tensor_health: TensorHealth) -> EventFlag:
    return EventFlag.SATURATED if max(tensor_health[1:7]) > MAX_COUNT else EventFlag(0)


def _measurements(tensor_health: TensorHealth) -> tuple[Any, ...]:
    """Return the remaining fields of a row: counts, range, moments, the first bad value."""
    return (*(min(count, MAX_COUNT) for count in tensor_health[1:7]), *tensor_health[7:])


def _constant_fill(row: tuple[Any, ...]) -> RowMaker:
    return lambda _: row


def _only_once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Report a full disk only once, although it stops all files of a trace."""
    messages = itertools.count()

    def once(message: str) -> None:
        if not next(messages):
            say(message)

    return once
