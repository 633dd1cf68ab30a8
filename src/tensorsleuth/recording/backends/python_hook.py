"""Replaces TensorFlow's eager entry points by Python code, the slow twin of native/src/eager/eager_hook.cc."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from tensorsleuth.core.layout.rows import NO_UID, CallKind
from tensorsleuth.recording.backends.python_probes import RunningCalls
from tensorsleuth.recording.eager.callbacks import FIRST_INPUT, EagerCallbacks
from tensorsleuth.recording.eager.op_sites import DTYPE_COUNT, OpSite
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.patches import disguise

MAX_UIDS = 4096
EntryPoint = Callable[..., Any]


class _InOwnCode(threading.local):
    """Marks threads that run our own code, whose ops are not the program's."""

    on = False


def _disguised(entry_point: EntryPoint) -> EntryPoint:
    """Hide our frame from the user's traceback, so that it looks like the bare program's."""

    def enter(*args: Any) -> Any:
        try:
            return entry_point(*args)
        except BaseException as error:
            raise error.with_traceback(None)  # noqa: B904 (the same error again)

    disguise(enter, tf.execute.quick_execute)
    return enter


class PythonHook:
    """The replacements of the three entry points."""

    def __init__(self, real: Sequence[EntryPoint], callbacks: EagerCallbacks, running_calls: RunningCalls) -> None:
        self._real_fast_path = real[0]
        self._callbacks = callbacks
        self._calls, self._sink = running_calls, running_calls.sink
        self._busy = _InOwnCode()
        self._places: dict[int, OpSite] = {}
        self._has_handle: dict[type, bool] = {}
        self._sink.forget_places = self._places.clear
        execute, cancelable = (functools.partial(self._execute, entry) for entry in real[1:])
        self.entry_points = tuple(_disguised(entry) for entry in (self._fast_path, execute, cancelable))

    def _fast_path(self, *args: Any) -> Any:
        if self._passive() or len(args) < FIRST_INPUT:
            return self._real_fast_path(*args)
        given = args
        if args[1] in tf.ops_with_functions():
            with self._in_own_code():
                given = harmless(self._callbacks.substitute, *args) or args
        return self._run_and_note(self._real_fast_path, args[1], given, given[FIRST_INPUT:])

    def _execute(self, real: EntryPoint, *args: Any) -> Any:
        """Run a function, or an op that the fast path rejects: TFE_Py_Execute(handle, device, op, inputs, …)."""
        if self._passive() or len(args) < 4:
            return real(*args)
        name = args[2]
        if name not in self._callbacks.known_ops:
            run = functools.partial(self._run_function, real, name)
            outputs = self._callbacks.call_function(run, *args)
            if outputs is not None:
                return outputs
        return self._run_and_note(real, name, args, args[3:4])

    def _passive(self) -> bool:
        return self._busy.on or not self._sink.recording

    def _run_function(
        self, real: EntryPoint, name: str, handle: Any, device: Any, ran: str, inputs: Any, *rest: Any
    ) -> Any:
        if ran == name:
            return real(handle, device, ran, inputs, *rest)
        with self._calls.running(name, int(inputs[-1])):  # the last argument of a watched copy is the call's number
            return real(handle, device, ran, inputs, *rest)

    def _run_and_note(self, real: EntryPoint, op: str | bytes, args: Sequence[Any], inputs: Sequence[Any]) -> Any:
        if self._sink.suspicious and op in tf.ops_that_write():
            with self._in_own_code():
                self._callbacks.on_variable_write(op, inputs)
        began = time.monotonic_ns()
        try:
            result = real(*args)
        except tf.TensorFlowErrors as error:
            with self._in_own_code():
                self._callbacks.on_op_failed(op, inputs, type(error), error)
            raise
        with self._in_own_code():
            bad_call = harmless(self._note, op, args, inputs, result, began)
            stop = self._sink.bench is not None and self._sink.bench.take_stop()
            if bad_call or stop:
                self._callbacks.on_bad_output(op, inputs, bad_call or 0, result)
        return result

    @contextlib.contextmanager
    def _in_own_code(self) -> Iterator[None]:
        self._busy.on = True
        try:
            yield
        finally:
            self._busy.on = False

    def _note(self, op: str | bytes, args: Sequence[Any], inputs: Sequence[Any], result: Any, began: int) -> int:
        """Record an op. Return the number of its call if any output is bad, else 0."""
        duration = time.monotonic_ns() - began
        outputs = result if type(result) is list else [result] if type(result) is tf.EagerTensor else []
        place = self._place(op, len(outputs))
        self._callbacks.note_texts(tf.as_text(op), args, place[0])
        given = inputs[: place[5]]
        call = self._sink.next_call()
        tensors = [(at, tensor) for at, tensor in enumerate(outputs) if type(tensor) is tf.EagerTensor]
        bad = [self._note_output(tensor, place, at, call) for at, tensor in tensors]
        uids = self._callbacks.feeds.note_external_inputs(place[0], given) if any(bad) else list(self._uids(given))
        self._sink.call(CallKind.OP, call, place[0], began, duration, uids)
        if uids:
            self._sink.set_taker(place[3], uids[0], place[0])
        return call if any(bad) else 0

    def _place(self, op: str | bytes, outputs: int) -> OpSite:
        """Return the place of an op. The stack is known by the addresses of its code objects, which stay alive."""
        stack: list[int] = []
        frame: FrameType | None = sys._getframe(4)
        while frame is not None:
            stack += (id(frame.f_code), frame.f_lasti)
            frame = frame.f_back
        key = hash((op, self._sink.forward, self._sink.scope, *stack))
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = self._callbacks.intern(op, outputs, self._sink.forward)
        return place

    def _note_output(self, tensor: Any, op_site: OpSite, index: int, call: int) -> bool:
        """Record an output, and return whether it is bad."""
        op, first, outputs, _, looks, _ = op_site
        uid, dtype = tensor._id, tensor._datatype_enum()
        self._sink.set_maker(uid, op)
        look = looks[dtype] if dtype < DTYPE_COUNT else DO_NOT_LOOK
        return look != DO_NOT_LOOK and self._sink.note_tensor(tensor, first + min(index, outputs - 1), call, uid, look)

    def _uids(self, inputs: Sequence[Any]) -> Iterator[int]:
        """Yield the uids of the input tensors, also in lists and of variables' handles; NO_UID for other values."""
        for thing in inputs:
            if type(thing) in (list, tuple):
                yield from (self._uid(item) for item in thing[:MAX_UIDS])
            else:
                yield self._uid(thing)

    def _uid(self, thing: Any) -> int:
        kind = type(thing)
        if kind is tf.EagerTensor:
            return int(thing._id)
        known = self._has_handle.get(kind)
        if known is False:
            return NO_UID
        handle: Any = getattr(thing, "_handle", None)
        if known is None:
            self._has_handle[kind] = type(handle) is tf.EagerTensor
        return int(handle._id) if type(handle) is tf.EagerTensor else NO_UID
