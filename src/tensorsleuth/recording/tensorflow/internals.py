"""TensorFlow's private parts that we touch, in one place; beside it `variables`, `sessions`, `tracing`.

`tests/compat/test_*_internals.py` fail, part by part, when a version moves one.
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
from tensorflow.python.eager.polymorphic_function import atomic_function, concrete_function
from tensorflow.python.framework import constant_op, errors_impl, op_def_library, op_def_registry, ops, tensor_util
from tensorflow.python.ops import gradients_util, resource_variable_ops, script_ops
from tensorflow.python.training import server_lib
from tensorflow.python.util import nest, traceback_utils

from tensorsleuth.core.ops.kinds import writes_variables

FunctionDef: Any = function_pb2.FunctionDef
FunctionDefLibrary: Any = function_pb2.FunctionDefLibrary
NodeDef: Any = node_def_pb2.NodeDef
EagerTensor: Any = ops.EagerTensor
Variable: Any = resource_variable_ops.BaseResourceVariable
TensorBase: Any = ops.EagerTensor.__mro__[1]  # the part of eager tensors that is written in Python
InvalidArgumentError: Any = tf.errors.InvalidArgumentError
FuncRegistry: Any = script_ops.FuncRegistry  # functions of Python that graphs call
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
    "gradients_util",
    "ops",
    "pywrap_tfe",
    "session",
    "tf",
    "traceback_utils",
]

MAKE_ITERATOR = "MakeIterator"
TENSORFLOW_FOLDER = os.path.dirname(tf.__file__) + os.sep


def version() -> tuple[int, int]:
    """Major and minor version of the TensorFlow that is loaded."""
    major, minor = tf.__version__.split(".")[:2]
    return int(major), int(minor)


def get_function(name: str) -> Any | None:
    """The definition that the eager runtime holds under a name."""
    runtime = context.context()
    return runtime.get_function_def(name) if runtime.has_function(name) else None


def add_function(definition: Any) -> None:
    context.context().add_function_def(definition)


_helpers: set[str] = set()


def add_helper(definition: Any) -> None:
    """Add a function of our own that is not the copy of one, until the recording ends."""
    _helpers.add(definition.signature.name)
    add_function(definition)


def remove_helpers() -> None:
    while _helpers:
        remove_function(_helpers.pop())


def remove_function(name: str) -> None:
    with contextlib.suppress(tf.errors.OpError):  # gone already; each version has its own error for that
        context.context().remove_function(name)


def op_definition(op: str) -> Any | None:
    return op_def_registry.get(op)


def is_stateful(op: str) -> bool:
    definition = op_definition(op)
    return definition is not None and bool(definition.is_stateful)


def graph_of(function: Any) -> Any | None:
    """The Python graph an AtomicFunction was made from, where it still has one."""
    return getattr(function, "_cached_graph", None)


MAX_FRAMES_TO_FUNCTION = (
    20  # from a hook up to the function that is called: TensorFlow's, and whatever stands in for one of its entries
)


def calling_function(frame: Any) -> Any | None:
    """The AtomicFunction whose call is under way on this stack."""
    return method_owner(frame, atomic_function.AtomicFunction, MAX_FRAMES_TO_FUNCTION)


def method_owner(frame: Any, kind: type, frames: int) -> Any | None:
    """The object of a class whose method is nearest on a stack, within so many frames."""
    for _ in range(frames):
        if frame is None:
            return None
        owner = frame.f_locals.get("self")
        if isinstance(owner, kind):
            return owner
        frame = frame.f_back
    return None


def inner_graphs(graph: Any) -> Iterator[tuple[str, Any]]:
    """The functions that a graph calls, by name."""
    for name, function in getattr(graph, "_functions", {}).items():
        inner = graph_of(function)
        if inner is not None:
            yield name, inner


def int64_scalar(number: int) -> Any:
    return tf.constant(number, tf.int64)


def constant_value(node: Any) -> Any:
    """The value of a Const node as a NumPy array."""
    return tensor_util.MakeNdarray(node.attr["value"].tensor)


def devices() -> list[str]:
    """The logical devices. Asking sets them up: only once the program has."""
    return [device.name for device in tf.config.list_logical_devices()]


def pools_memory() -> bool:
    """Do tensors on the CPU come from a pool that keeps what is freed, as with oneDNN. Only pools have statistics."""
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
    """Is there more than CPUs here. Asks for physical devices, which leaves the program free to set up logical ones."""
    return any(device.device_type != "CPU" for device in tf.config.list_physical_devices())


def as_dtype(number: int) -> Any | None:
    """The dtype of that number; None where this TensorFlow has not got it."""
    try:
        return tf.as_dtype(number)
    except TypeError:
        return None


def message_attribute(error: Any) -> str:
    """Return the attribute in which an error of TensorFlow keeps its text."""
    return "_message" if isinstance(error, tf.errors.OpError) else "message"


def error_name(error: Any) -> str:
    """The name of the exception the user will see for a status."""
    if isinstance(error, tf.errors.OpError):
        return type(error).__name__
    code = getattr(error, "code", None)
    known = errors_impl._CODE_TO_EXCEPTION_CLASS.get(code) if code is not None else None
    return known.__name__ if known else type(error).__name__


Context: Any = context.Context
_PROGRAM_SCOPE_FILES = ("module.py", "variable_scope.py")  # TensorFlow opens scopes that the program named

_OLD_KERAS = os.path.join(TENSORFLOW_FOLDER, "python", "keras", "")


def opens_scope_of_op(frame: Any) -> bool:
    """Return whether it is TensorFlow itself that opens a name scope here, for the parts of one of its functions."""
    file = frame.f_code.co_filename
    return (
        file.startswith(TENSORFLOW_FOLDER)
        and not file.endswith(_PROGRAM_SCOPE_FILES)
        and not file.startswith(_OLD_KERAS)
    )


def eager_scope() -> str:
    """The name scope of eager code in this thread, with a slash at its end; empty at the top."""
    return context.context().scope_name or ""


def eager_surroundings(frame: Any) -> tuple[bool, bool]:
    """Does eager code run in a loop of TensorFlow's (while_loop, scan, map_fn); and for a tape that gives gradients."""
    loops = differentiates = False
    while frame is not None:
        code = frame.f_code
        loops = loops or (code.co_name in _LOOP_FUNCTIONS and code.co_filename.startswith(TENSORFLOW_FOLDER))
        differentiates = differentiates or (code.co_name == "gradient" and code.co_filename == backprop.__file__)
        frame = frame.f_back
    return loops, differentiates


_LOOP_FUNCTIONS = ("while_loop", "while_loop_v2")


def is_taped() -> bool:
    """Does a gradient tape record what this thread runs."""
    return not pywrap_tfe.TFE_Py_TapeSetIsEmpty()


def as_text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def executing_eagerly() -> bool:
    return bool(context.executing_eagerly())


@cache
def ops_with_functions() -> frozenset[str]:
    """Names of the ops that take functions as attributes (datasets, calls, control flow), or start what they made."""
    likely = (name for name in dir(tf.raw_ops) if _TAKES_FUNCTIONS.search(name))
    return frozenset([MAKE_ITERATOR, *(name for name in likely if _takes_functions(op_def_registry.get(name)))])


_TAKES_FUNCTIONS = re.compile("Dataset|Call|While|If$|Case|Defun|Gradient$|Generator")


def _takes_functions(definition: Any | None) -> bool:
    return definition is not None and any(attr.type in ("func", "list(func)") for attr in definition.attr)


@cache
def ops_that_write() -> frozenset[str]:
    """Names of the ops that change a variable's value."""
    return frozenset(name for name in dir(tf.raw_ops) if writes_variables(name))


def user_outputs(frame: Any) -> int | None:
    """Return the number of user outputs of the called function; the others are kept for its gradient."""
    called = method_owner(frame, ConcreteFunction, 24)
    return len(called.function_type.flat_outputs) if called is not None else None  # `outputs` grows with what is kept


def flat(structure: Any) -> list[Any]:
    """The leaves of a structure; IndexedSlices and the like are leaves."""
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
    """The eager tensors in what a user passes as a structure of tensors."""
    return [one for one in tf.nest.flatten(structure) if isinstance(one, EagerTensor)]


@cache
def join_optimizer(library: str) -> str | None:
    """Let our library take part in the graph optimizer; why not, where it cannot."""
    try:
        pywrap_tf_session.TF_LoadPluggableDeviceLibrary(library)
    except (tf.errors.OpError, RuntimeError, AttributeError) as error:
        return str(error)
    return None


def optimizer_is_on() -> bool:
    """Has the user left the graph optimizer switched on."""
    return not tf.config.optimizer.get_experimental_options().get("disable_meta_optimizer", False)


def autoclusters() -> bool:
    """Has the user told XLA to choose by itself what it compiles."""
    return bool(tf.config.optimizer.get_jit()) or bool(_AUTO_JIT.search(os.environ.get("TF_XLA_FLAGS", "")))


_AUTO_JIT = re.compile(r"tf_xla_auto_jit=(?!0|-1)")


def register_python(function: Callable[..., Any]) -> bytes:
    """The token under which nodes of type PyFunc call a function; TensorFlow does not keep it alive."""
    token: str = script_ops._py_funcs.insert(function)
    return token.encode()


def as_tensor(value: Any) -> Any | None:
    """An eager tensor of a value that TensorFlow took as it was, past everything that we replaced."""
    try:
        return EagerTensor(value, context.context().device_name, None)
    except (TypeError, ValueError, tf.errors.OpError):
        return None


def convert(value: Any) -> Any:
    """A tensor of a value or a variable, as TensorFlow's own ops would have it."""
    return tf.convert_to_tensor(value)


def numpy_function(function: Callable[..., Any], inputs: list[Any], name: str) -> Any:
    """Call Python from a graph; it gives an integer."""
    return tf.numpy_function(function, inputs, tf.int64, stateful=True, name=name)


def after_op(done: Any, tensor: Any) -> Any:
    """The tensor, as soon as something else is done."""
    with tf.control_dependencies([done]):
        return tf.identity(tensor)


def array_of(tensor: Any) -> Any:
    """The tensor's own memory as an array, not a copy, where the host can reach it."""
    return np.asarray(tensor._numpy_internal())  # not `_numpy`, which is the program's way


def is_async() -> bool:
    """Do eager calls of this thread return before they have run."""
    return bool(context.context().is_async())


execute_unseen = pywrap_tfe.TFE_Py_Execute  # the real one: this module is imported before anything is replaced


def run_op(op: str, inputs: list[Any], attrs: tuple[Any, ...], outputs: int) -> list[Any]:
    """Run an op of ours, unseen by hooks and tapes."""
    ran: list[Any] = execute_unseen(context.context()._handle, "", op, inputs, attrs, outputs)
    return ran


def serialize(tensor: Any) -> bytes:
    """The tensor as a TensorProto."""
    written: bytes = tf.make_tensor_proto(tensor.numpy()).SerializeToString()
    return written


def deserialize(data: bytes, dtype: Any) -> Any:
    proto = tensor_pb2.TensorProto()
    proto.ParseFromString(data)
    return as_tensor(tensor_util.MakeNdarray(proto))


def dtype_named(name: str) -> Any:
    return tf.as_dtype(name)


def bytes_of(tensor: Any) -> int:
    """Return the memory of an eager tensor's value in bytes; 0 if that is not known."""
    return int(tensor.dtype.size * (tensor.shape.num_elements() or 0))


def run_function(name: str, inputs: list[Any], outputs: int, device: str) -> list[Any]:
    """Run a function of ours: no hook and no gradient tape sees it."""
    runtime = context.context()
    runtime.ensure_initialized()
    attrs = ("executor_type", "", "config_proto", runtime.function_call_options.config_proto_serialized)
    ran: list[Any] = execute_unseen(runtime._handle, device, name, inputs, attrs, outputs)
    return ran


def apply_op(name: str, **inputs: Any) -> Any:
    """Put an op of ours into the graph that is being built; its library must be loaded."""
    return op_def_library.apply_op(name, **inputs)
