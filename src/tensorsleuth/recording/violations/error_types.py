"""Errors of ours that are also TensorFlow errors, so that programs that catch TensorFlow's own checks catch them."""

from __future__ import annotations

from typing import Any, TypeVar

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.recording.tensorflow import internals as tf

E = TypeVar("E", bound=SleuthError)


def as_tensorflow_error(kind: type[E]) -> type[E]:
    """Return a class to raise in place of `kind`, with the same name and constructor."""

    def make(self: Any, message: str, *told: Any) -> None:
        tf.InvalidArgumentError.__init__(self, None, None, message)
        kind.__init__(self, message, *told)
        self._told = told

    def reduce(self: Any) -> Any:  # makes the error picklable, to get from one process to another
        return kind, (str(self), *self._told)

    members = {"__init__": make, "__reduce__": reduce, "__module__": "tensorsleuth", "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, tf.InvalidArgumentError), members)
