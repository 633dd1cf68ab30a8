"""The destination of rows: the native library's files, or the same files written by Python."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.core.layout.thread_slots import THREADS_FILE
from tensorsleuth.native import loader
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.size_plan import TracePlan

FIRST_FETCH_STEP = 1 << 62  # larger than any step id of TensorFlow
MAX_BAD_TENSORS = 65_536  # bad tensors that are kept for one call


class Sink(Protocol):
    """Records calls and tensors, and assigns call numbers."""

    @property
    def native(self) -> loader.Native | None: ...

    def next_call(self) -> int: ...
    def call(self, kind: CallKind, call: int, op: int, began: int, duration: int, uids: Sequence[int]) -> None: ...
    def begin_function(self, op: int, inputs: Sequence[Any], began: int) -> tuple[int, Sequence[int]]: ...
    def note_results(self, op: int, first: int, looks: bytes, call: int, results: Sequence[Any]) -> None: ...
    def begin_call(self, op: int, call: int, began: int) -> None: ...
    def end_call(self, call: int) -> None: ...
    def note_tensor(self, tensor: Any, number: int, call: int, uid: int, look: int) -> bool: ...
    def note_buffer(self, tensor: Any, number: int, call: int) -> None: ...
    def set_maker(self, uid: int, op: int) -> None: ...
    def maker(self, uid: int) -> int: ...
    def taker(self, kind: int, uid: int) -> int: ...
    def set_forward(self, op: int) -> None: ...
    def set_scope(self, scope: int) -> None: ...
    def set_step(self, step: int) -> None: ...
    def events(self) -> int: ...
    def alarm(self) -> int: ...
    def bad(self) -> int: ...
    def name_devices(self, devices: Sequence[str]) -> None: ...
    def guard(self, level: int, small: int) -> None: ...
    def take_bad(self, call: int) -> list[tuple[int, bool]]: ...
    def set_suspicious(self, suspicious: int) -> None: ...
    def forget_places(self) -> None: ...
    def keep_values(self, folder: Folder, bound: int) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


class NativeSink:
    """Writes through the native library."""

    def __init__(self, native: loader.Native, folder: Folder, session: int, plan: TracePlan) -> None:
        self.native = self._native = native
        self._step = -1
        # The library's own builtins: in a short step, ctypes would take longer than the rows.
        self.call, self.begin_function, self.note_results, self.begin_call, self.end_call = native.call_functions()
        error = native.open_threads(_threads_file(folder)) or _open_memory(native, folder, plan)
        error = error or native.open(_native_plan(folder, session, plan))
        if error:
            raise OSError(error, "cannot create the trace's files", str(folder))
        self._bad = (ctypes.c_uint32 * (2 * MAX_BAD_TENSORS))()
        self._taking = threading.Lock()
        self.set_suspicious = native.set_suspicious
        self.next_call = native.next_call
        self.forget_places = native.forget_places
        self.set_maker = native.made
        self.maker = native.maker
        self.taker = native.taker
        self.set_forward = native.set_forward
        self.set_scope = native.set_scope
        self.events = native.events
        self.alarm = native.alarm
        self.bad = native.bad
        self.close = native.close

    def abandon(self) -> None:
        pass  # the library itself drops its files when it detects a fork

    def keep_values(self, folder: Folder, bound: int) -> None:
        """Keep values from now on, even if the plan had none."""
        paths = (str(folder / name).encode() for name in ("value_rows.bin", "values.bin"))
        error = self._native.open_values(*paths, bound)
        if error:
            raise OSError(error, "cannot create the files for values", str(folder))

    def set_step(self, step: int) -> None:
        self._step = step
        self._native.set_step(step)

    def name_devices(self, devices: Sequence[str]) -> None:
        self._native.name_devices("\n".join(devices).encode())

    def note_tensor(self, tensor: Any, number: int, call: int, uid: int, look: int) -> bool:
        """Record an eager tensor, and return whether it is bad."""
        view, array = tensor_view(tensor) if look else (loader.TensorView(dtype=tensor._datatype_enum()), None)
        row_place = loader.RowPlace(call, number, uid & 0xFFFF_FFFF, uid >> 32, EventKind.EAGER)
        self._native.born(tensor, view.dtype, row_place)
        bad = bool(self._native.note(view, look, row_place))
        del array  # it kept the tensor's memory alive until here
        return bad

    def note_buffer(self, tensor: Any, number: int, call: int) -> None:
        """Record only the memory address of an eager tensor, if the tensor is large."""
        row_place = loader.RowPlace(call, number, tensor._id & 0xFFFF_FFFF, tensor._id >> 32, EventKind.EAGER)
        self._native.born(tensor, tensor._datatype_enum(), row_place)

    def note_fetched(self, value: Any, number: int, call: int, look: int) -> None:
        """Record a fetched tensor of a graph under a step id of its own, and join that to the call."""
        step = FIRST_FETCH_STEP + call
        self._native.call(loader.CallRow(call=call, step=self._step, kind=CallKind.JOIN, tf_step=step))
        view, array = tensor_view(value)
        self._native.note(view, look, loader.RowPlace(step, number, 0, 0, EventKind.GRAPH))
        del array

    def guard(self, level: int, small: int) -> None:
        self._native.guard(level, small)
        self._native.set_suspicious(0)

    def take_bad(self, call: int) -> list[tuple[int, bool]]:
        """Return the bad tensors of a function's call, each once, with whether they contain NaN."""
        with self._taking:
            taken = self._native.take_bad(call, self._bad, MAX_BAD_TENSORS)
            numbers = self._bad[: 2 * taken] if taken else []
        return list(zip(numbers[::2], map(bool, numbers[1::2]), strict=True))


def _threads_file(folder: Folder) -> bytes:
    """Return the path of the file of threads; empty for a recording in memory, which ends with the program."""
    return os.fsencode(folder / THREADS_FILE) if isinstance(folder, Path) else b""


def _open_memory(native: loader.Native, folder: Folder, plan: TracePlan) -> int:
    """Open the files for memory and time that the plan includes. Return 0 or errno."""
    rings = {"memory": plan.samples, "buffers": plan.buffers, "passed": plan.op_ends}
    wanted = [(folder / f"{name}.bin", ring) for name, ring in rings.items() if ring is not None]
    files = [(str(path).encode(), ring.chunk_rows, ring.chunks) for path, ring in wanted]
    return int(native.open_memory(*chain(*files))) if files else 0


def _native_plan(folder: Folder, session: int, plan: TracePlan) -> loader.SessionPlan:
    events, calls = plan.events, plan.calls
    return loader.SessionPlan(
        *loader.trace_paths(folder), session, events.chunk_rows, events.chunks, events.window,
        calls.chunk_rows, calls.chunks, plan.value_bytes, calls.window,
    )  # fmt: skip


def tensor_view(tensor: Any) -> tuple[loader.TensorView, Any]:
    """Return the native library's view of an eager tensor, and an object that keeps its memory alive."""
    array = np.ascontiguousarray(tf.array_of(tensor))
    view = loader.TensorView(array.ctypes.data, array.size, array.nbytes, tensor._datatype_enum(), len(tensor.shape))
    view.dims[: min(len(tensor.shape), 8)] = tensor.shape[:8]
    return view, array
