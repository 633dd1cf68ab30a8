"""The private TensorFlow that `tensorsleuth.expect` uses: an op of ours in graphs, errors, ends of calls.

We patch nothing until a graph contains an expectation. Then the patches stay, because that graph may run at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tensorflow.python.eager import context, core, execute
from tensorflow.python.eager.polymorphic_function import function_context
from tensorflow.python.framework import op_def_library, ops
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops
from tensorflow.python.saved_model import save

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.tensorflow import function_calls
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.recording.tensorflow.patches import Patches, disguise
from tensorsleuth.recording.tensorflow.strip_ops import EXPECT_OP, name_to_run, strip_node
from tensorsleuth.recording.tensorflow.tracing import is_compiled

STATE_PREFIX = "sleuth_expectation"  # the prefix of our variables in compiled functions
COMPILED_CALLER = -1  # replaces the XLA context id while tracing for a compiled caller, so that the trace is separate

_patches = Patches()


# ---- compilation


def may_be_compiled(graph: Any) -> bool:
    """Return whether XLA will or may compile the code being traced.

    Automatic clustering counts, because our op is in the data path and would split a cluster. The ops of `graph_points`
    have no outputs, so they do not.
    """
    return is_compiled(graph) or tf.autoclusters()


# ---- the op


@cache
def register_gradient() -> None:
    ops.RegisterGradient(EXPECT_OP)(lambda op, gradient: gradient)


def insert_expectation(tensor: Any, number: int, name: str) -> Any:
    """Insert an op that judges a tensor. It runs even if no op uses its output, and waits only for its input."""
    register_gradient()
    _, _, op, outputs = op_def_library._apply_op_helper(EXPECT_OP, x=tensor, expectation=number, name=name)
    if execute.must_record_gradient():
        execute.record_gradient(EXPECT_OP, op.inputs, ("T", op._get_attr_type("T"), "expectation", number), outputs)
    run_independently(op)
    return outputs[0]


def run_independently(op: Any) -> None:
    manager = getattr(op.graph, "experimental_acd_manager", None)
    if manager is not None:
        manager.run_independently(op)


# ---- the state of compiled functions


def make_state(initial: Any, number: int) -> Any:
    """Create a variable of our own, outside of all functions. No model, tape or checkpoint knows it."""
    with ops.init_scope(), ops.device("CPU:0"):
        return resource_variable_ops.ResourceVariable(initial, trainable=False, name=f"{STATE_PREFIX}_{number}")


def read_state(state: Any) -> Any:
    """Read the variable in the graph that is being traced."""
    return gen_resource_variable_ops.read_variable_op(state.handle, state.dtype)


def write_state(state: Any, value: Any) -> None:
    gen_resource_variable_ops.assign_variable_op(state.handle, value)


def value_of_state(state: Any) -> Any:
    """Read the variable now, as an array, unseen by hooks."""
    return tf.array_of(tf_variables.read_handle(state.handle, state.dtype.as_datatype_enum))


def reset_state(state: Any, value: Any) -> None:
    with ops.init_scope():
        tf.run_op("AssignVariableOp", [state.handle, tf.as_tensor(value)], ("dtype", state.dtype.as_datatype_enum), 0)


# ---- patches


@cache
def watch_failures(find: Callable[[str], Alarm]) -> None:
    """Replace errors by the result of `find` for their message. If it returns None, raise the original error.

    Functions raise TensorFlow's errors directly, ops through a status, and sessions through a wrapper.
    """

    def status_to_exception(status: Any) -> Any:
        alarm = find(status.message)
        return alarm if alarm is not None else real(status)

    def do_call(self: Any, function: Any, *args: Any) -> Any:
        try:
            return real_call(self, function, *args)
        except tf.TensorFlowErrors as error:
            alarm = find(str(error))
            if alarm is None:
                raise
        raise alarm

    leave_out_of_compiled_functions()
    function_calls.on_failure(find)
    real = _patches.replace(core, "_status_to_exception", status_to_exception)
    real_call = _patches.replace(tf.session.BaseSession, "_do_call", do_call)
    disguise(status_to_exception, real)
    disguise(do_call, real_call)


@cache
def leave_out_of_compiled_functions() -> None:
    """Strip our ops from functions that were traced outside of a compiled function but run inside one."""
    function_calls.run_instead(name_to_run)


@cache
def trace_compiled_separately() -> None:
    """Trace functions separately for compiled callers, because our ops look different there."""

    def make_function_context(scope_type: Any = None) -> Any:
        made = real(scope_type)
        if context.executing_eagerly() or made.context.xla_context_id or not may_be_compiled(ops.get_default_graph()):
            return made
        return type(made)(made.context._replace(xla_context_id=COMPILED_CALLER), made.scope_type)

    real = _patches.replace(function_context, "make_function_context", make_function_context)
    disguise(make_function_context, real)


@cache
def leave_out_of_saved_models() -> None:
    """Remove our ops from SavedModels, which must also load without tensorsleuth."""

    def build_meta_graph(*args: Any, **kwargs: Any) -> Any:
        try:
            made = real(*args, **kwargs)
        except AssertionError as error:
            if STATE_PREFIX not in str(error):
                raise
        else:
            _without_expectations(made[0])
            return made
        raise SleuthError(
            "A function that XLA compiles contains expectations (tensorsleuth.expect), and cannot be saved with them. "
            "Save the same function without jit_compile: SavedModels then leave the expectations out."
        )

    real = _patches.replace(save, "_build_meta_graph", build_meta_graph)
    disguise(build_meta_graph, real)


def _without_expectations(meta_graph: Any) -> None:
    """Replace our op by one that returns its input."""
    graph = meta_graph.graph_def
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        for node in nodes:
            if node.op == EXPECT_OP:
                strip_node(node)
    listed = meta_graph.meta_info_def.stripped_op_list.op
    for number in reversed([at for at, op in enumerate(listed) if op.name == EXPECT_OP]):
        del listed[number]
