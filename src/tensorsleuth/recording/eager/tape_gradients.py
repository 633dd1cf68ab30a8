"""Gradients and variables of eager code, seen when the program calls a tape's `gradient`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables


def source_name(source: Any) -> str:
    """Return the name of a tape's source: a Keras variable's path, another variable's name, or "a tensor"."""
    name = getattr(source, "path", None)
    if not isinstance(name, str):
        name = getattr(source, "name", None) if not isinstance(source, tf.EagerTensor) else None
    return name.removesuffix(":0") if isinstance(name, str) else "a tensor"


def gradient_pairs(sources: Any, gradients: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each source that has a gradient, with its gradient."""
    for source, gradient in zip(tf.flat(sources), tf.flat(gradients), strict=False):
        if gradient is not None:
            yield source, getattr(gradient, "values", gradient)  # for an embedding, the rows in use


def value_of(source: Any) -> Any | None:
    """Return the value of a variable as an eager tensor."""
    variable = _variable(source)
    return tf_variables.read_variable(variable) if variable is not None else None


def is_variable(source: Any) -> bool:
    """Return whether a tape's source is a variable."""
    return _variable(source) is not None


def handle_of(source: Any) -> Any | None:
    """Return the handle of a variable as an eager tensor."""
    handle = getattr(_variable(source), "handle", None)
    return handle if isinstance(handle, tf.EagerTensor) else None


def _variable(source: Any) -> Any | None:
    variable = getattr(source, "value", source)  # a Keras 3 variable wraps TensorFlow's
    variable = variable if isinstance(variable, tf.Variable) else source
    return variable if isinstance(variable, tf.Variable) else None
