"""Probes without the native library: nodes that pass a tensor through a Python function, unchanged.

A probe is a PyFuncStateless node, so it does not know TensorFlow's step id. It only knows which calls of its root
function, the one that Python called, are running. If exactly one is running, the tensor belongs to it, and the call's
number replaces the step id. If several threads run the same function, or eager execution is asynchronous, the call is
unknown, and the step is 0. It is also 0 in a dataset's functions, which run at any time. Iterations of loops are not
distinguished.

The probes exist before TensorFlow optimises the graph, and prevent it from fusing the ops around them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.recording.backends.python_sink import PythonSink
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import (
    InPlaceProber,
    ProbeContext,
    probe_candidates,
    redirect,
    used_tensors,
)
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.tensorflow import internals as tf

NO_CALL = 0
# TensorFlow passes these to Python as plain integers, and refuses to convert integers back.
UNSUPPORTED_DTYPES = frozenset(("qint8", "quint8", "qint16", "quint16", "qint32"))


class RunningCalls:
    """The running calls of each function."""

    def __init__(self, sink: PythonSink) -> None:
        self.sink = sink
        self._lock = threading.Lock()
        self._under_way: dict[str, list[int]] = {}

    @contextlib.contextmanager
    def running(self, function: str, call: int) -> Iterator[None]:
        """Assign the ops of this block to the call."""
        if tf.is_async():
            yield
            return
        self.sink.call(CallKind.JOIN, call, 0, time.monotonic_ns(), 0, [], tf_step=call)
        with self._lock:
            self._under_way.setdefault(function, []).append(call)
        try:
            yield
        finally:
            with self._lock:
                self._under_way[function].remove(call)

    def only_call(self, function: str | None) -> int:
        """Return the only running call of the function; NO_CALL if there is none or more than one."""
        under_way = self._under_way.get(function, ()) if function is not None else ()
        return under_way[0] if len(under_way) == 1 else NO_CALL


class _PythonProbe:
    """The Python function of a probe node. It lives as long as the process, because a dataset may call it late."""

    __slots__ = ("__weakref__", "_dtype", "_function", "_look", "_session", "_tensor")
    recordings: ClassVar[WeakValueDictionary[int, RunningCalls]] = WeakValueDictionary()  # by session
    alive: ClassVar[list[_PythonProbe]] = []

    def __init__(self, session: int, function: str | None, tensor: int, dtype: int, look: int) -> None:
        self._session, self._function = session, function
        self._tensor, self._dtype, self._look = tensor, dtype, look

    def __call__(self, value: Any) -> Any:
        calls = self.recordings.get(self._session)
        if calls is not None:
            bad = harmless(self._note, calls, np.asarray(value))  # TensorFlow passes a scalar as a Python number
            hit = calls.sink.bench.take_stop() if calls.sink.bench is not None else 0
            if hit:
                raise ArithmeticError(f"tensorsleuth: stopped by hit {hit} of break_when")
            if bad and calls.sink.strict:
                raise ArithmeticError("tensorsleuth: a value that is not finite")
        return value

    def _note(self, running_calls: RunningCalls, array: Any) -> bool:
        where = self._tensor, running_calls.only_call(self._function), 0, 0
        return running_calls.sink.note(array, self._dtype, self._look, where, EventKind.GRAPH)


class PythonProber(InPlaceProber):
    """Puts Python probes into the copies of functions."""

    def __init__(self, running_calls: RunningCalls, session: int, not_covered: Callable[[str, str], None]) -> None:
        _PythonProbe.recordings[session] = self._calls = running_calls
        self._session = session
        self._not_covered = not_covered

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        used = used_tensors(copy)
        nodes: dict[str, Any] = {}
        look_at = probe_context.selection.for_function(definition)
        for tensor, source, op, dtype, _ in probe_candidates(definition, arguments, called):
            look = look_at(op, dtype, source)
            if look is not None and source in used and self._covers(dtype):
                python_probe = _PythonProbe(
                    self._session, probe_context.root, probe_context.first + tensor, dtype, int(look)
                )
                nodes[source] = _node(f"sleuth/{tensor}", source, dtype, python_probe)
        redirect(copy, {source: f"{node.name}:output:0" for source, node in nodes.items()})
        copy.node_def.extend(nodes.values())

    def _covers(self, dtype: int) -> bool:
        name = dtype_of(dtype).name
        if name in UNSUPPORTED_DTYPES:
            self._not_covered(f"{name} tensors inside functions", "a round trip through Python would change them")
        return name not in UNSUPPORTED_DTYPES

    def join(self, copy: Any, session: int) -> None:
        pass  # RunningCalls already knows the call


def _node(name: str, source: str, dtype: int, python_probe: _PythonProbe) -> Any:
    """Return a probe node. It has no device, because Python runs on the host in any case."""
    _PythonProbe.alive.append(python_probe)
    node = tf.NodeDef(name=name, op="PyFuncStateless", input=[source])
    node.attr["token"].s = tf.register_python(python_probe)
    node.attr["Tin"].list.type.append(dtype)
    node.attr["Tout"].list.type.append(dtype)
    return node
