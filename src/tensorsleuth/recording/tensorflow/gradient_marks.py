"""Finds the forward op of each gradient op of a tape. TensorFlow stores it only for `tf.gradients`."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.call_sites import is_user_file
from tensorsleuth.recording.tensorflow import internals as tf

ARGUMENT_MAKER = 0xFFFF_FFFF  # marks a tensor that no recorded op made
_GRADIENT_NAME = "_gradient_op_type"  # attribute of an op whose gradient is another than that of its type
_GRADIENT_LOOP = "gradients_util.py"  # calls the gradient functions for `tf.gradients`
_MARK = "\x01"  # cannot occur in a name scope


class GradientTracker:
    """Links the gradient function that a tape calls to its forward op."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def mark(self, scope: str, outputs: Any) -> str:
        """Return the name scope of an op in a graph, followed by the op's name."""
        first = outputs[0] if isinstance(outputs, list | tuple) and outputs else outputs
        op = getattr(first, "op", None) if not isinstance(first, tf.EagerTensor) else None
        return f"{scope}{_MARK}{op.name}" if op is not None else scope

    def unmark(
        self, scope: str | None, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]
    ) -> tuple[str | None, AbstractContextManager[None]]:
        """Return the original name scope, and a context in which gradient ops know their forward op."""
        if scope and _MARK in scope:
            scope, name = scope.split(_MARK, 1)
            return scope, self._in_graph(name)
        if tf.executing_eagerly():
            return scope, self._in_eager(op_type, inputs, outputs)
        return scope, contextlib.nullcontext()

    @contextlib.contextmanager
    def _in_graph(self, name: str) -> Iterator[None]:
        graph = tf.ops.get_default_graph()
        try:
            original = graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            yield
            return
        with graph._original_op(original):
            yield

    @contextlib.contextmanager
    def _in_eager(self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> Iterator[None]:
        self._sink.set_forward(self._forward(op_type, inputs, outputs))
        try:
            yield
        finally:
            self._sink.set_forward(0)

    def _forward(self, op_type: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> int:
        """Return the eager op that made the outputs. If the tape dropped them, return the op that used the input."""
        for tensor in _tensors(outputs):
            maker = self._sink.maker(tensor._id)
            if maker and maker != ARGUMENT_MAKER:
                return maker
        kind = zlib.crc32(op_type.encode())
        for tensor in _tensors(inputs):
            if taker := self._sink.taker(kind, tensor._id):
                return taker
        return 0


def without_mark(scope: str | None) -> str | None:
    """Return a name scope without its mark."""
    return scope.split(_MARK, 1)[0] if scope else scope


def is_in_written_gradient(op: Any, differentiated: Any) -> bool:
    """Return whether a function of the program that computes the gradient of another op has made this one."""
    try:
        differentiated.get_attr(_GRADIENT_NAME)
    except ValueError:
        return False
    files = [frame.filename for frame in op.traceback or ()]
    last = next((file for file in reversed(files) if is_user_file(file) or file.endswith(_GRADIENT_LOOP)), "")
    return is_user_file(last)


def _tensors(values: Any) -> Iterator[Any]:
    for value in values or ():
        if isinstance(value, tf.EagerTensor):
            yield value
