"""TensorFlow's private parts for variables: see `recording/tensorflow/internals.py`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context, record

from tensorsleuth.recording.tensorflow.internals import execute_unseen

READ_VARIABLE = "ReadVariableOp"


def read_variable(variable: Any) -> Any | None:
    """Return the value of a variable, read unseen by tapes."""
    try:
        with record.stop_recording():
            return variable.read_value()
    except (TypeError, ValueError, AttributeError, tf.errors.OpError):
        return None


def read_handle(handle: Any, dtype: int) -> Any:
    """Return the value of a variable, unseen by hooks and tapes. It shares the variable's memory until a write."""
    return execute_unseen(context.context()._handle, handle.device, READ_VARIABLE, [handle], ("dtype", dtype), 1)[0]


def variable_dtype(handle: Any) -> int | None:
    """Return the dtype of a variable's handle; None for any other resource."""
    data = getattr(handle, "_handle_data", None)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    return int(data.shape_and_type[0].dtype)


def variable_bytes(handle: Any) -> int:
    """Return the size of a variable in bytes, as far as its shape is known."""
    known = handle._handle_data.shape_and_type[0]
    size = tf.as_dtype(known.dtype).size
    for dim in known.shape.dim:
        size *= max(dim.size, 0)
    return int(size)


def make_variable(value: Any, device: str) -> Any:
    """Return the handle of a new variable that nothing else knows. The variable lives as long as the handle."""
    dtype = value._datatype_enum()
    attrs = ("container", "", "shared_name", context.anonymous_name(), "dtype", dtype, "shape", value.shape)
    runtime = context.context()._handle
    handle = execute_unseen(runtime, device, "VarHandleOp", [], attrs, 1)[0]
    execute_unseen(runtime, device, "AssignVariableOp", [handle, value], ("dtype", dtype), 0)
    return handle


def living_variables(graph: Any) -> list[Any]:
    """Return the variables of a function's graph, without those that the program has let go: a loaded function of a
    module that is gone still runs. TensorFlow's own property raises for them.
    """
    references = getattr(graph, "_weak_variables", None)
    found = (reference() for reference in references) if references is not None else getattr(graph, "variables", ())
    return [variable for variable in found if variable is not None]
