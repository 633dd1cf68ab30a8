"""Our ops that the program itself puts into its graphs, and their replacement in graphs that XLA compiles.

XLA cannot compile our ops. There, the inputs of the op are assigned to a variable of ours, which we read after the
function has returned. It holds the last value if there were several.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

import tensorflow as tf
from tensorflow.python.eager import context, record
from tensorflow.python.framework import auto_control_deps, op_def_library, ops
from tensorflow.python.ops import resource_variable_ops

from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.tensorflow import function_calls
from tensorsleuth.recording.tensorflow import internals as own
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.recording.tensorflow.custom_ops import leave_out_of_compiled_functions, trace_compiled_separately

LETTERBOX_NAME = "sleuth_letterbox"  # the name of our variables
MAX_UNKNOWN_ELEMENTS = 1024  # elements to keep of a tensor whose shape is unknown during tracing
UNORDERED_OPS = frozenset(["SleuthPoint"])  # ops that must run, but in no particular order


def is_tensor(value: Any) -> bool:
    """Return whether it is a tensor or a variable, of TensorFlow or of Keras 3."""
    return isinstance(value, tf.Tensor | tf.Variable) or isinstance(getattr(value, "value", None), tf.Variable)


def as_tensor(value: Any) -> Any:
    """Return the tensor with a variable's value, or a tensor itself."""
    return value if isinstance(value, tf.Tensor) else tf.convert_to_tensor(value)


def is_keras_input(value: Any) -> bool:
    """Return whether it is a symbolic tensor of Keras, which has no value until the model is called."""
    return type(value).__name__ == "KerasTensor"


def in_function() -> bool:
    """Return whether a function is being traced, or another graph is being built."""
    return not context.executing_eagerly()


def put_op(op: str, inputs: Sequence[Any], number: int) -> None:
    """Add an op of ours to the current graph, which runs whenever the graph does. A list of inputs is one argument."""
    if op in UNORDERED_OPS and not auto_control_deps.MUST_RUN_ORDER_INSENSITIVE_STATEFUL_OPS >= UNORDERED_OPS:
        auto_control_deps.MUST_RUN_ORDER_INSENSITIVE_STATEFUL_OPS |= UNORDERED_OPS
    trace_compiled_separately()
    leave_out_of_compiled_functions()
    given = inputs[0] if op in UNORDERED_OPS else list(inputs)
    with record.stop_recording(), tf.device("CPU:0"):
        op_def_library._apply_op_helper(op, x=given, number=number, name=op)


def put_python(function: Callable[..., None], inputs: Sequence[Any]) -> None:
    """Add a Python function to the current graph, if there is no native library."""
    tf.numpy_function(function, list(inputs), [])


_taking = threading.Lock()


class Letterbox:
    """Our own variables, which a compiled function writes. `take` returns their new values."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        with tf.init_scope(), tf.device("CPU:0"):
            self._count = _variable(tf.zeros([], tf.int64))
            self._slots = [
                _WholeTensor(tensor) if tensor.shape.is_fully_defined() else _TruncatedTensor(tensor)
                for tensor in tensors
            ]
        self._taken = 0

    def put(self, tensors: Sequence[Any]) -> None:
        """Write the tensors to the variables, in the current graph."""
        with record.stop_recording():
            for slot, tensor in zip(self._slots, tensors, strict=True):
                slot.put(tensor)
            self._count.assign_add(1)

    def take(self) -> tuple[int, list[Any]]:
        """Return the number of writes since the last call, and the last values as eager tensors."""
        with _taking:
            count = int(own.array_of(_read(self._count)))
            new, self._taken = count - self._taken, count
        return new, [slot.take() for slot in self._slots] if new else []


class _WholeTensor:
    """A variable for a tensor whose shape is known."""

    def __init__(self, tensor: Any) -> None:
        self._value = _variable(tf.zeros(tensor.shape, tensor.dtype))

    def put(self, tensor: Any) -> None:
        self._value.assign(tensor)

    def take(self) -> Any:
        return _read(self._value)


class _TruncatedTensor:
    """A variable for a tensor whose shape is unknown during tracing.

    XLA cannot write values of several shapes to one variable. So it stores the first elements, flat, and their number.
    """

    def __init__(self, tensor: Any) -> None:
        self._value = _variable(tf.zeros([MAX_UNKNOWN_ELEMENTS], tensor.dtype))
        self._size = _variable(tf.zeros([], tf.int32))

    def put(self, tensor: Any) -> None:
        flat = tf.reshape(tensor, [-1])[:MAX_UNKNOWN_ELEMENTS]
        size = tf.size(flat)
        self._value.assign(tf.reshape(tf.pad(flat, [[0, MAX_UNKNOWN_ELEMENTS - size]]), [MAX_UNKNOWN_ELEMENTS]))
        self._size.assign(size)

    def take(self) -> Any:
        return own.as_tensor(own.array_of(_read(self._value))[: int(own.array_of(_read(self._size)))])


def _read(variable: Any) -> Any:
    """Read a variable, unseen by hooks and tapes."""
    return tf_variables.read_handle(variable.handle, variable.dtype.as_datatype_enum)


def _variable(value: Any) -> Any:
    return resource_variable_ops.ResourceVariable(value, trainable=False, name=LETTERBOX_NAME)


_letterboxes: list[tuple[Any, Letterbox, Callable[[int, list[Any]], None]]] = []


def post_from_compiled(tensors: Sequence[Any], told: Callable[[int, list[Any]], None]) -> None:
    """In a graph that XLA compiles, pass these tensors to `told` after each run, with how often they were computed."""
    letterbox = Letterbox(tensors)
    letterbox.put(tensors)
    _letterboxes.append((ref(ops.get_default_graph()), letterbox, told))
    function_calls.on_end(_collect_after_call)


def _collect_after_call(name: str, inputs: Sequence[Any]) -> None:
    """Collect the new values after a call, even one that raised, since they may explain the error."""
    harmless(collect)


def collect() -> None:
    """Pass on all values that were written since the last call."""
    for entry in list(_letterboxes):
        graph, letterbox, told = entry
        new, values = letterbox.take()
        if new:
            told(new, values)
        elif graph() is None and entry in _letterboxes:
            _letterboxes.remove(entry)  # the function no longer exists, so it writes nothing more
