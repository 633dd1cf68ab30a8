"""Records the argument types of each trace of a tf.function, which explain retracing."""

from __future__ import annotations

import inspect
from typing import Any
from weakref import WeakKeyDictionary

from tensorflow.python.eager.polymorphic_function import polymorphic_function

from tensorsleuth.recording.call_sites import is_user_file
from tensorsleuth.recording.creation_sites import creating_frame, expression_at
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_TRACES = 2_000  # the traces to record, enough to explain any retracing
MAX_ARGUMENT_TEXT = 240  # the length of an argument's description
MAX_ARGUMENTS = 32
MAX_FRAMES_TO_CALL = 16  # between the call of a tf.function and the call of its trace
_BACKWARD_PREFIX = "__backward_"


class TraceNotes:
    """Records every trace once, at its first call."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._known: set[str] = set()
        self._made: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # where each tf.function was made
        self._made_after: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # and how many traces there were then

    def note_made(self, function: Any) -> None:
        """A tf.function was made: by the program's own line, unless it is the copy that an object has of a method."""
        if is_user_file(_code(function)["file"] or ""):
            frame = creating_frame(function)
            if frame is not None:
                self._made[function] = expression_at(frame)
                self._made_after[function] = len(self._known)

    def note_call(self, name: str, call: int, frame: Any) -> None:
        """Record a trace that is about to run as the call with this number on this stack."""
        if name in self._known or len(self._known) >= MAX_TRACES:
            return
        self._known.add(name)
        function = tf.method_owner(frame, polymorphic_function.Function, MAX_FRAMES_TO_CALL)
        concrete = tf.method_owner(frame, tf.ConcreteFunction, MAX_FRAMES_TO_CALL)
        if function is None or concrete is None or name.startswith(_BACKWARD_PREFIX):
            return
        made = self._made.get(function)
        noted = {"name": name, "call": call, "owner": id(function), "arguments": _arguments(concrete), "made": made}
        noted["made_after"] = self._made_after.get(function)
        self._catalog.trace(noted | _code(function))


def _arguments(concrete: Any) -> list[list[str]]:
    """Return the types of the arguments in TensorFlow's notation, which its own tracing compares."""
    parameters = list(getattr(concrete.function_type, "parameters", {}).items())[:MAX_ARGUMENTS]
    return [[name, str(parameter.type_constraint)[:MAX_ARGUMENT_TEXT]] for name, parameter in parameters]


def _code(function: Any) -> dict[str, Any]:
    """Return the place where the Python function is defined."""
    python = inspect.unwrap(function.python_function)
    python = getattr(python, "__func__", getattr(python, "func", python))
    code = getattr(python, "__code__", None)
    if code is None:
        return {"file": None, "line": None, "function": type(python).__name__}
    return {"file": code.co_filename, "line": code.co_firstlineno, "function": code.co_name}
