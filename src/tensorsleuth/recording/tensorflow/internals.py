"""All private parts of TensorFlow that we use, together with `variables`, `sessions` and `tracing` beside it.

`tests/compat/test_*_internals.py` name each part that a new version moves.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import function_pb2, node_def_pb2, tensor_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.client import pywrap_tf_session, session
from tensorflow.python.distribute import distribute_lib
from tensorflow.python.eager import backprop, context, core, execute
from tensorflow.python.eager.polymorphic_function import atomic_function, concrete_function, polymorphic_function
from tensorflow.python.framework import constant_op, errors_impl, op_def_library, op_def_registry, ops, tensor_util
from tensorflow.python.ops import gradients_util, resource_variable_ops, script_ops
from tensorflow.python.saved_model import function_serialization, loader_impl
from tensorflow.python.training import server_lib
from tensorflow.python.util import nest, traceback_utils

from tensorsleuth.core.ops.kinds import writes_variables

PolymorphicFunction: Any = polymorphic_function.Function
FunctionDef: Any = function_pb2.FunctionDef
FunctionDefLibrary: Any = function_pb2.FunctionDefLibrary
NodeDef: Any = node_def_pb2.NodeDef
EagerTensor: Any = ops.EagerTensor
_INT64 = tf.int64.as_datatype_enum
_host_device = ["/job:localhost/replica:0/task:0/device:CPU:0"]
Variable: Any = resource_variable_ops.BaseResourceVariable
TensorBase: Any = ops.EagerTensor.__mro__[1]  # the Python part of the class of eager tensors
InvalidArgumentError: Any = tf.errors.InvalidArgumentError
FuncRegistry: Any = script_ops.FuncRegistry  # the Python functions that graphs call
ConcreteFunction: Any = concrete_function.ConcreteFunction
StrategyExtended: Any = distribute_lib.StrategyExtendedV1
Server: Any = server_lib.Server
TensorFlowErrors: Any = (core._NotOkStatusException, tf.errors.OpError)

__all__ = [
    "FunctionDef",
    "FunctionDefLibrary",
    "NodeDef",
    "backprop",
    "constant_op",
    "execute",
    "function_serialization",
    "gradients_util",
    "loader_impl",
    "ops",
    "pywrap_tfe",
    "session",
    "tf",
    "traceback_utils",
]

MAKE_ITERATOR = "MakeIterator"
TENSORFLOW_FOLDER = os.path.dirname(tf.__file__) + os.sep


def version() -> tuple[int, int]:
    """Return the major and minor version of the loaded TensorFlow."""
    major, minor = tf.__version__.split(".")[:2]
    return int(major), int(minor)


def get_function(name: str) -> Any | None:
    """Return the definition that the eager runtime holds under a name."""
    runtime = context.context()
    return runtime.get_function_def(name) if runtime.has_function(name) else None


def add_function(definition: Any) -> None:
    context.context().add_function_def(definition)


_helpers: set[str] = set()


def add_helper(definition: Any) -> None:
    """Add a function of our own that is no watched copy. It is removed when the recording ends."""
    _helpers.add(definition.signature.name)
    add_function(definition)


def remove_helpers() -> None:
    while _helpers:
        remove_function(_helpers.pop())


def remove_function(name: str) -> None:
    with contextlib.suppress(tf.errors.OpError):  # already removed; the error type depends on the version
        context.context().remove_function(name)


def op_definition(op: str) -> Any | None:
    return op_def_registry.get(op)


def is_stateful(op: str) -> bool:
    definition = op_definition(op)
    return definition is not None and bool(definition.is_stateful)


def graph_of(function: Any) -> Any | None:
    """Return the Python graph of an AtomicFunction, if it still has one."""
    return getattr(function, "_cached_graph", None)


MAX_FRAMES_TO_FUNCTION = (
    20  # the most frames between a hook and the called function, wrappers of TensorFlow's entry points included
)


def calling_function(frame: Any) -> Any | None:
    """Return the AtomicFunction whose call is running on this stack."""
    return method_owner(frame, atomic_function.AtomicFunction, MAX_FRAMES_TO_FUNCTION)


def method_owner(frame: Any, kind: type, frames: int) -> Any | None:
    """Return the object of the innermost method of a class on a stack, within `frames` frames."""
    for _ in range(frames):
        if frame is None:
            return None
        owner = frame.f_locals.get("self")
        if isinstance(owner, kind):
            return owner
        frame = frame.f_back
    return None


def inner_graphs(graph: Any) -> Iterator[tuple[str, Any]]:
    """Yield the functions that a graph calls, with their names."""
    for name, function in getattr(graph, "_functions", {}).items():
        inner = graph_of(function)
        if inner is not None:
            yield name, inner


def int64_scalar(number: int) -> Any:
    """Return an eager number, as each watched call takes. Without the name of a device, TensorFlow would copy it."""
    runtime = context.context()
    runtime.ensure_initialized()
    if runtime.device_name:
        return EagerTensor(number, runtime.device_name, _INT64)
    try:
        return EagerTensor(number, _host_device[0], _INT64)
    except TensorFlowErrors:  # the program has joined a cluster, so the device has another name
        made = EagerTensor(number, "", _INT64)
        _host_device[0] = made.device
        return made


def constant_value(node: Any) -> Any:
    """Return the value of a Const node as a NumPy array."""
    return tensor_util.MakeNdarray(node.attr["value"].tensor)


def devices() -> list[str]:
    """Return the logical devices. Call it only after the program has set them up, because it sets them up, too."""
    return [device.name for device in tf.config.list_logical_devices()]


def pools_memory() -> bool:
    """Return whether CPU tensors come from a pool that keeps freed memory (oneDNN). Only pools have statistics."""
    try:
        tf.config.experimental.get_memory_info("CPU:0")
    except (ValueError, tf.errors.OpError):
        return False
    return True


def own_task() -> tuple[str, int] | None:
    """Return the cluster task of this process, if it has connected to one."""
    runtime = context.context()
    found = runtime._server_def or runtime._collective_ops_server_def
    return (found.job_name, found.task_index) if found is not None else None


def has_accelerator() -> bool:
    """Return whether the machine has more than CPUs. This reads physical devices, and sets up no logical ones."""
    return any(device.device_type != "CPU" for device in tf.config.list_physical_devices())


def as_dtype(number: int) -> Any | None:
    """Return the dtype with that number; None if this TensorFlow does not have it."""
    try:
        return tf.as_dtype(number)
    except TypeError:
        return None


def message_attribute(error: Any) -> str:
    """Return the attribute in which an error of TensorFlow keeps its text."""
    return "_message" if isinstance(error, tf.errors.OpError) else "message"


def error_name(error: Any) -> str:
    """Return the name of the exception that the user will see for a status."""
    if isinstance(error, tf.errors.OpError):
        return type(error).__name__
    code = getattr(error, "code", None)
    known = errors_impl._CODE_TO_EXCEPTION_CLASS.get(code) if code is not None else None
    return known.__name__ if known else type(error).__name__


Context: Any = context.Context
_PROGRAM_SCOPE_FILES = ("module.py", "variable_scope.py")  # here TensorFlow opens scopes with the program's names

_OLD_KERAS = os.path.join(TENSORFLOW_FOLDER, "python", "keras", "")


def opens_scope_of_op(frame: Any) -> bool:
    """Return whether TensorFlow itself opens a name scope here, for the parts of one of its functions."""
    file = frame.f_code.co_filename
    return (
        file.startswith(TENSORFLOW_FOLDER)
        and not file.endswith(_PROGRAM_SCOPE_FILES)
        and not file.startswith(_OLD_KERAS)
    )


def eager_scope() -> str:
    """Return the name scope of eager code in this thread, with a final slash; "" at the top."""
    return context.context().scope_name or ""


def eager_surroundings(frame: Any) -> tuple[bool, bool]:
    """Return whether eager code runs in a TensorFlow loop (while_loop, scan, map_fn), and in a tape's gradient."""
    loops = differentiates = False
    while frame is not None:
        code = frame.f_code
        loops = loops or (code.co_name in _LOOP_FUNCTIONS and code.co_filename.startswith(TENSORFLOW_FOLDER))
        differentiates = differentiates or (code.co_name == "gradient" and code.co_filename == backprop.__file__)
        frame = frame.f_back
    return loops, differentiates


_LOOP_FUNCTIONS = ("while_loop", "while_loop_v2")


def is_taped() -> bool:
    """Return whether a gradient tape records the ops of this thread."""
    return not pywrap_tfe.TFE_Py_TapeSetIsEmpty()


def as_text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def eagerly() -> Any:
    """Run ops eagerly meanwhile, beside the graph of a program of TensorFlow 1."""
    return context.eager_mode()


def executing_eagerly() -> bool:
    return bool(context.executing_eagerly())


@cache
def ops_with_functions() -> frozenset[str]:
    """Return the ops that take functions as attributes (datasets, calls, control flow), or that run such functions."""
    likely = (name for name in dir(tf.raw_ops) if _TAKES_FUNCTIONS.search(name))
    return frozenset([MAKE_ITERATOR, *(name for name in likely if _takes_functions(op_def_registry.get(name)))])


_TAKES_FUNCTIONS = re.compile("Dataset|Call|While|If$|Case|Defun|Gradient$|Generator")


def _takes_functions(definition: Any | None) -> bool:
    return definition is not None and any(attr.type in ("func", "list(func)") for attr in definition.attr)


@cache
def ops_that_write() -> frozenset[str]:
    """Return the ops that change a variable's value."""
    return frozenset(name for name in dir(tf.raw_ops) if writes_variables(name))


def user_outputs(frame: Any) -> int | None:
    """Return the number of user outputs of the called function; the others are kept for its gradient."""
    called = method_owner(frame, ConcreteFunction, 24)
    return len(called.function_type.flat_outputs) if called is not None else None  # `outputs` also lists the others


def flat(structure: Any) -> list[Any]:
    """Return the leaves of a structure. IndexedSlices and similar values are leaves."""
    return list(tf.nest.flatten(structure))


def argument_names(graph: Any) -> list[str]:
    """Return the program's names of a function's tensor arguments, in order: `x`, `batch_token_ids`."""
    signature = getattr(graph, "structured_input_signature", None) or ()
    specs = [one for one in tf.nest.flatten(signature, expand_composites=True) if isinstance(one, tf.TypeSpec)]
    return [getattr(spec, "name", None) or str(number) for number, spec in enumerate(specs)]


def element_names(graph: Any) -> list[str]:
    """Return the names of the elements of the first iterator that a function gets: `0/token_ids`, `1`."""
    signature = getattr(graph, "structured_input_signature", None) or ()
    elements = (getattr(one, "_element_spec", None) for one in tf.nest.flatten(signature))
    element = next((one for one in elements if one is not None), ())
    return [path for path, _ in nest.flatten_with_joined_string_paths(element, expand_composites=True)]


def flat_tensors(structure: Any) -> list[Any]:
    """Return the eager tensors in a nested structure."""
    return [one for one in tf.nest.flatten(structure) if isinstance(one, EagerTensor)]


@cache
def join_optimizer(library: str) -> str | None:
    """Let our library join the graph optimizer. Return the reason if it cannot."""
    try:
        pywrap_tf_session.TF_LoadPluggableDeviceLibrary(library)
    except (tf.errors.OpError, RuntimeError, AttributeError) as error:
        return str(error)
    return None


def optimizer_is_on() -> bool:
    """Return whether the graph optimizer is on, as it is unless the user switches it off."""
    return not tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False)


def autoclusters() -> bool:
    """Return whether the user lets XLA choose by itself what to compile."""
    return bool(tf.config.optimizer.get_jit()) or bool(_AUTO_JIT.search(os.environ.get("TF_XLA_FLAGS", "")))


_AUTO_JIT = re.compile(r"tf_xla_auto_jit=(?!0|-1)")


def register_python(function: Callable[..., Any]) -> bytes:
    """Return the token for nodes of type PyFunc to call a function. TensorFlow does not keep the function alive."""
    token: str = script_ops._py_funcs.insert(function)
    return token.encode()


def as_tensor(value: Any) -> Any | None:
    """Convert a value to an eager tensor as TensorFlow does, past all of our patches."""
    try:
        return EagerTensor(value, context.context().device_name, None)
    except (TypeError, ValueError, tf.errors.OpError):
        return None


def convert(value: Any) -> Any:
    """Convert a value or a variable to a tensor, in the same way as TensorFlow's own ops."""
    return tf.convert_to_tensor(value)


def numpy_function(function: Callable[..., Any], inputs: list[Any], name: str) -> Any:
    """Call a Python function from a graph. It must return an integer."""
    return tf.numpy_function(function, inputs, tf.int64, stateful=True, name=name)


def after_op(done: Any, tensor: Any) -> Any:
    """Return the tensor, delayed until `done` has run."""
    with tf.control_dependencies([done]):
        return tf.identity(tensor)


def array_of(tensor: Any) -> Any:
    """Return a host tensor's memory as an array, without a copy."""
    return np.asarray(tensor._numpy_internal())  # `_numpy` would look like a read by the program


def is_async() -> bool:
    """Return whether eager calls of this thread return before their ops have run."""
    return bool(context.context().is_async())


execute_unseen = pywrap_tfe.TFE_Py_Execute  # the original, because this module is imported before any patch


def run_op(op: str, inputs: list[Any], attrs: tuple[Any, ...], outputs: int) -> list[Any]:
    """Run an op of ours, unseen by hooks and tapes."""
    ran: list[Any] = execute_unseen(context.context()._handle, "", op, inputs, attrs, outputs)
    return ran


def serialize(tensor: Any) -> bytes:
    """Return the tensor as a serialised TensorProto."""
    written: bytes = tf.make_tensor_proto(tensor.numpy()).SerializeToString()
    return written


def deserialize(data: bytes, dtype: Any) -> Any:
    proto = tensor_pb2.TensorProto()
    proto.ParseFromString(data)
    return as_tensor(tensor_util.MakeNdarray(proto))


def dtype_named(name: str) -> Any:
    return tf.as_dtype(name)


def bytes_of(tensor: Any) -> int:
    """Return the memory of an eager tensor's value in bytes; 0 if unknown."""
    return int(tensor.dtype.size * (tensor.shape.num_elements() or 0))


def run_function(name: str, inputs: list[Any], outputs: int, device: str) -> list[Any]:
    """Run a function of ours, unseen by hooks and tapes."""
    runtime = context.context()
    runtime.ensure_initialized()
    attrs = ("executor_type", "", "config_proto", runtime.function_call_options.config_proto_serialized)
    ran: list[Any] = execute_unseen(runtime._handle, device, name, inputs, attrs, outputs)
    return ran


def apply_op(name: str, **inputs: Any) -> Any:
    """Add an op of ours to the current graph. Its library must be loaded."""
    return op_def_library.apply_op(name, **inputs)
