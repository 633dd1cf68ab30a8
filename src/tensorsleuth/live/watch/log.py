"""`tensorsleuth.log`: a print that also works in graphs, even with XLA, and reaches the trace."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import STRING
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.threads.gc_pause import GcPauseLock, no_collection
from tensorsleuth.live.watch.log_message import FormattedTensor, check_fields, render
from tensorsleuth.native import loader
from tensorsleuth.recording import api as recording
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.trace.storage.values import decode

# How many milliseconds the program's end waits for TensorFlow's threads to leave Python.
DRAIN_MILLISECONDS = 5000
MAX_MESSAGES = 100_000  # the most messages in one trace


@dataclass(frozen=True)
class GraphMessage:
    """A call of `log` in a graph."""

    text: str
    args: tuple[Any, ...]
    fields: dict[str, Any]
    slots: tuple[int | str, ...]  # the arguments that are tensors, in the order of the op's inputs
    file: str | None
    line: int | None

    def print_with(self, values: Sequence[Any], note: str = "") -> None:
        """Print the message with these values, and store it in the trace."""
        args, fields = list(self.args), dict(self.fields)
        for slot, value in zip(self.slots, values, strict=True):
            if isinstance(slot, int):
                args[slot] = FormattedTensor(value)
            else:
                fields[slot] = FormattedTensor(value)
        _say(render(self.text, args, fields) + note, self.file, self.line)


_messages: list[GraphMessage] = []  # by number; never shortened, since graphs hold the numbers
_lock = GcPauseLock()
_kept = 0
_callback: Any = None


def log(message: str, *args: Any, **fields: Any) -> None:
    """Print a message to stderr, formatted as by `str.format`. In a graph, print it each time the graph runs.

    The message also reaches the trace of the active recording, with the training step and the line.
    """
    check_fields(message, args, fields)
    if not any(_may_be_tensor(value) for value in (*args, *fields.values())) and "tensorflow" not in sys.modules:
        _say(render(message, args, fields), None, None)
        return
    from tensorsleuth.recording.call_sites import caller_line
    from tensorsleuth.recording.tensorflow import graph_points
    from tensorsleuth.recording.tensorflow import internals as tf

    given: dict[int | str, Any] = dict(enumerate(args)) | fields
    slots = tuple(slot for slot, value in given.items() if graph_points.is_tensor(value))
    stand_in = next((slot for slot, value in given.items() if graph_points.is_keras_input(value)), None)
    if stand_in is not None:
        raise SleuthError(
            f"log: {stand_in} is a symbolic tensor of Keras, which has no value until the model is called. "
            "Log in the call() of a layer."
        )
    said = GraphMessage(message, args, fields, slots, *caller_line())
    tensors = [graph_points.as_tensor(given[slot]) for slot in slots]
    if graph_points.in_function():
        harmless(_in_graph, said, tensors)
    else:
        said.print_with([tf.array_of(tensor) for tensor in tensors])


log.autograph_info__ = {}  # type: ignore[attr-defined]  # AutoGraph must not convert it


def _may_be_tensor(value: Any) -> bool:
    return hasattr(value, "dtype")


def _in_graph(said: GraphMessage, tensors: list[Any]) -> None:
    from tensorsleuth.recording.tensorflow import graph_points, tracing

    if tracing.is_saving():
        return
    if tracing.is_compiled():
        graph_points.post_from_compiled(tensors, lambda count, values: _say_compiled(said, count, values))
    elif _listen():
        with _lock:
            _messages.append(said)
            number = len(_messages) - 1
        graph_points.put_op("SleuthLog", tensors, number)
    else:
        graph_points.put_python(lambda *values: harmless(_say_values, said, values), tensors)


def _say_values(said: GraphMessage, values: Sequence[Any]) -> None:
    with no_collection():
        said.print_with([np.asarray(value) for value in values])


def _say_compiled(said: GraphMessage, count: int, values: list[Any]) -> None:
    from tensorsleuth.recording.tensorflow import internals as tf

    note = f" (the last of {count:,} times in compiled code)" if count > 1 else ""
    said.print_with([tf.array_of(value) for value in values], note)


def _listen() -> bool:
    """Let the native library call us. Return False without the library."""
    global _callback
    native = loader.load()
    with _lock:
        if native is not None and _callback is None:
            _callback = loader.LogCallback(_print)
            native.log_tell(_callback)
            atexit.register(_end)
    return native is not None


def _end() -> None:
    """Prevent calls from native code into Python while the program ends."""
    native = loader.load()
    if native is not None:
        native.log_tell(loader.LogCallback())
        native.log_drain(DRAIN_MILLISECONDS)


def _print(number: int, count: int, views: Any) -> None:
    """Print a message on the thread that runs the op. No exception may leave this function."""
    try:
        with no_collection():
            _messages[number].print_with([_read(views[at]) for at in range(count)])
    except Exception as error:
        complain(f"log did not work ({type(error).__name__}: {error}); the program goes on.")


def _read(view: loader.TensorView) -> Any:
    shape = tuple(view.dims[: view.rank])
    if view.dtype == STRING:
        return np.array([_text(view, at) for at in range(view.elements)], object).reshape(shape)
    array = decode(ctypes.string_at(view.data, view.bytes), view.dtype, shape) if view.bytes else None
    return array if array is not None else np.zeros(shape)


def _text(view: loader.TensorView, at: int) -> bytes:
    native, place = loader.load(), ctypes.c_void_p()
    assert native is not None
    size = native.text(view, at, place)
    return ctypes.string_at(place, size) if size else b""


def _say(text: str, file: str | None, line: int | None) -> None:
    with contextlib.suppress(Exception):  # stderr may be closed
        sys.stderr.write(f"{text}\n")  # one write, so that lines of several threads do not mix
        sys.stderr.flush()
    harmless(_keep, text, file, line)


def _keep(text: str, file: str | None, line: int | None) -> None:
    global _kept
    recorder = recording.active_recorder()
    if recorder is None:
        return
    with _lock:
        _kept += 1
    if _kept > MAX_MESSAGES:
        recorder.catalog.not_covered("later messages of log", f"there are {MAX_MESSAGES:,} messages already")
        return
    when = {"time": time.time(), "clock": time.monotonic_ns(), "step": recorder.steps.number}
    recorder.catalog.log(when | {"message": text, "file": file, "line": line})
