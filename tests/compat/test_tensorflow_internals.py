"""Each private part of TensorFlow that recording/ touches is there, and does what is assumed."""

from __future__ import annotations

import gc
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import backprop, context, core, execute
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import errors_impl, func_graph, op_def_registry, ops
from tensorflow.python.ops import gen_math_ops, gradients_util
from tensorflow.python.saved_model import function_serialization, loader_impl
from tensorflow.python.util import traceback_utils
from tests.compat.looking import marked

from tensorsleuth.recording.tensorflow import autograph, patches
from tensorsleuth.recording.tensorflow import internals as private
from tensorsleuth.recording.tensorflow import variables as tf_variables


def calls_of(monkeypatch: pytest.MonkeyPatch, entry: str) -> list[tuple[Any, ...]]:
    """The arguments of each call of an entry point, from now on."""
    real, seen = getattr(pywrap_tfe, entry), []

    def spy(*args: Any) -> Any:
        seen.append(args)
        return real(*args)

    monkeypatch.setattr(pywrap_tfe, entry, spy)
    return seen


def graph_of(function: Any, *args: Any) -> func_graph.FuncGraph:
    return tf.function(function).get_concrete_function(*args).graph


@pytest.mark.parametrize("entry", patches.ENTRY_POINTS)
def test_entry_points_are_attributes_of_one_module(entry: str) -> None:
    assert callable(getattr(pywrap_tfe, entry))


def test_generated_ops_call_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant(2.0)
    seen = calls_of(monkeypatch, "TFE_Py_FastPathExecute")
    gen_math_ops.mul(x, x)
    ((_, op, _, *inputs),) = seen
    assert op == "Mul" and inputs[0] is x and inputs[1] is x


def test_the_slow_path_calls_execute(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant(2.0)
    seen = calls_of(monkeypatch, "TFE_Py_Execute")
    execute.execute(b"Mul", 1, [x, x], ("T", 1), context.context())
    (arguments,) = seen
    assert arguments[2] == b"Mul" and list(arguments[3]) == [x, x] and arguments[-1] == 1


def test_functions_are_called_through_execute(monkeypatch: pytest.MonkeyPatch) -> None:
    function = tf.function(lambda x: x + 1.0)
    x = tf.constant(2.0)
    name = function.get_concrete_function(x).function_def.signature.name
    plain, cancelable = (calls_of(monkeypatch, entry) for entry in patches.ENTRY_POINTS[1:])
    function(x)
    (arguments,) = [args for args in plain + cancelable if args[2] in (name, name.encode())]
    assert list(arguments[3]) == [x] and arguments[-1] == 1


def test_a_call_has_its_atomic_function_on_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    function = tf.function(lambda x: x + 1.0)
    graph = function.get_concrete_function(tf.constant(2.0)).graph
    found = []

    def spy(real: Any) -> Any:
        def call(*args: Any) -> Any:
            found.append(private.calling_function(sys._getframe(1)))
            return real(*args)

        return call

    for entry in patches.ENTRY_POINTS[1:]:
        monkeypatch.setattr(pywrap_tfe, entry, spy(getattr(pywrap_tfe, entry)))
    function(tf.constant(2.0))
    assert isinstance(found[-1], atomic_function.AtomicFunction)
    assert private.graph_of(found[-1]) is graph


def test_the_context_holds_functions_by_name() -> None:
    definition = tf.function(lambda x: x + 1.0).get_concrete_function(tf.constant(2.0)).function_def
    copy = private.FunctionDef.FromString(definition.SerializeToString())
    copy.signature.name = "a_copy_of_it"
    private.add_function(copy)
    found = private.get_function("a_copy_of_it")
    assert found is not None and found.signature.name == "a_copy_of_it"
    private.remove_function("a_copy_of_it")
    assert private.get_function("a_copy_of_it") is None
    private.remove_function("a_copy_of_it")  # twice does no harm


def test_dropped_functions_are_removed_through_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = calls_of(monkeypatch, "TFE_ContextRemoveFunction")
    function = tf.function(lambda x: x + 1.0)
    name = function.get_concrete_function(tf.constant(2.0)).function_def.signature.name
    del function
    gc.collect()
    removed = [args[1].decode() if isinstance(args[1], bytes) else args[1] for args in seen]
    assert name in removed


def test_a_graph_knows_the_functions_it_calls() -> None:
    inner = tf.function(lambda x: tf.math.log(x))
    graph = graph_of(lambda x: inner(x) + 1.0, tf.constant(2.0))
    ((name, found),) = private.inner_graphs(graph)
    assert "Log" in [op.type for op in found.get_operations()]
    called = [op for op in graph.get_operations() if "PartitionedCall" in op.type]
    assert called[0].get_attr("f").name == name


def test_an_op_keeps_its_stack() -> None:
    def logarithm(x: Any) -> Any:
        return tf.math.log(x)  # the logarithm

    graph = graph_of(logarithm, tf.constant(2.0))
    (log,) = [op for op in graph.get_operations() if op.type == "Log"]
    frame = log.traceback.get_user_frames()[-1]
    assert (frame.filename, frame.lineno, frame.name) == (__file__, marked("the logarithm"), "logarithm")


def test_an_op_remembers_its_original_op() -> None:
    with tf.Graph().as_default() as graph:
        first = tf.constant(1.0)
        with graph._original_op(first.op):
            second = tf.constant(2.0)
    assert second.op._original_op is first.op
    assert first.op._original_op is None


def test_signatures_of_what_gradients_go_through() -> None:
    names = ["op_name", "attr_tuple", "num_inputs", "inputs", "outputs", "out_grads", "skip_input_indices"]
    assert list(inspect.signature(backprop._gradient_function).parameters) == [*names, "forward_pass_name_scope"]
    recorded = list(inspect.signature(execute.record_gradient).parameters)
    assert recorded == ["op_name", "inputs", "attrs", "outputs"]
    assert list(inspect.signature(gradients_util._MaybeCompile).parameters) == ["scope", "op", "func", "grad_fn"]


def test_the_tape_hands_the_name_scope_back() -> None:
    scopes = []

    def spy(*args: Any) -> Any:
        scopes.append(args[-1])
        return backprop._gradient_function(*args)

    def differentiate(x: Any) -> Any:
        with tf.GradientTape() as tape, tf.name_scope("here"):
            tape.watch(x)
            y = tf.math.log(x)
        return tape.gradient(y, x)

    pywrap_tfe.TFE_Py_RegisterGradientFunction(spy)
    try:
        graph_of(differentiate, tf.constant(2.0))
    finally:
        pywrap_tfe.TFE_Py_RegisterGradientFunction(backprop._gradient_function)
    assert scopes == ["here/"] or scopes == ["here"]


def test_generated_ops_record_gradients_through_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(execute, "record_gradient", lambda *args: seen.append(args[0]))

    def logarithm(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            return gen_math_ops.log(x)

    graph_of(logarithm, tf.constant(2.0))
    assert seen == ["Log"]


def test_tf_gradients_compiles_each_gradient_through_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = gradients_util._MaybeCompile, []

    def spy(scope: Any, op: Any, func: Any, grad_fn: Any) -> Any:
        seen.append(op.type)
        return real(scope, op, func, grad_fn)

    monkeypatch.setattr(gradients_util, "_MaybeCompile", spy)
    graph_of(lambda x: tf.gradients(tf.math.log(x), x), tf.constant(2.0))
    assert seen == ["Log"]


def test_excluded_paths_are_cut_from_tracebacks() -> None:
    assert callable(traceback_utils._process_traceback_frames)
    assert isinstance(traceback_utils._EXCLUDED_PATHS, tuple)
    assert all(isinstance(path, str) for path in traceback_utils._EXCLUDED_PATHS)


def test_saving_serializes_each_concrete_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = function_serialization.serialize_concrete_function, []

    def spy(concrete_function: Any, node_ids: Any) -> Any:
        seen.append((concrete_function.name, concrete_function.graph.get_operations()))
        return real(concrete_function, node_ids)

    monkeypatch.setattr(function_serialization, "serialize_concrete_function", spy)
    module = tf.Module()
    module.run = tf.function(tf.sqrt, input_signature=[tf.TensorSpec([2])])
    tf.saved_model.save(module, str(tmp_path))
    assert any(b"sqrt" in tf.compat.as_bytes(name) and len(made) for name, made in seen)


def test_loading_reads_the_saved_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = loader_impl.parse_saved_model_with_debug_info, []

    def spy(folder: Any) -> Any:
        parsed = real(folder)
        seen.append(parsed[1])
        return parsed

    monkeypatch.setattr(loader_impl, "parse_saved_model_with_debug_info", spy)
    module = tf.Module()
    module.run = tf.function(tf.sqrt, input_signature=[tf.TensorSpec([2])])
    tf.saved_model.save(module, str(tmp_path), options=tf.saved_model.SaveOptions(save_debug_info=True))
    tf.saved_model.load(str(tmp_path))
    (info,) = seen
    names = [*info.name_to_trace_id, *info.traces]
    assert any(name.startswith("Sqrt@__inference_sqrt") for name in names) and list(info.files)


def test_an_eager_tensor_shows_its_id_dtype_and_memory() -> None:
    x, y = tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0])
    assert 0 < x._id < y._id
    assert x._datatype_enum() == 1
    assert memoryview(x).shape == (2,) and memoryview(x).nbytes == 8
    assert type(x) is private.EagerTensor


def test_with_onednn_tensors_come_from_a_pool() -> None:
    from tensorflow.python.util import _pywrap_util_port

    assert private.pools_memory() == _pywrap_util_port.IsMklEnabled()


def test_a_variable_has_a_handle_that_is_an_eager_tensor() -> None:
    variable = tf.Variable(1.0)
    assert type(variable._handle) is private.EagerTensor


def test_failures_are_status_exceptions() -> None:
    with pytest.raises(private.TensorFlowErrors):
        tf.raw_ops.MatMul(a=tf.ones([2, 3]), b=tf.ones([2, 3]))
    assert issubclass(core._FallbackException, Exception)
    assert not issubclass(core._FallbackException, private.TensorFlowErrors)
    assert errors_impl._CODE_TO_EXCEPTION_CLASS[3] is tf.errors.InvalidArgumentError


def test_ops_that_take_functions_are_found() -> None:
    wanted = {"MapDataset", "ParallelMapDatasetV2", "FilterDataset", "ReduceDataset", "GeneratorDataset"}
    wanted |= {"StatefulPartitionedCall", "While", "If", "Case", "FlatMapDataset"}
    assert wanted <= private.ops_with_functions()
    assert op_def_registry.get("Mul") is not None
    assert op_def_registry.get("no such op") is None


def test_an_op_is_put_into_a_graph_by_name() -> None:
    with tf.Graph().as_default() as graph:
        packed = private.apply_op("Pack", values=[tf.constant(1), tf.constant(2)], axis=0)
    assert packed.op.type == "Pack" and packed.op.graph is graph and packed.shape == [2]


def test_a_constant_can_be_read_from_its_node() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant([1.5, 2.5])
    (node,) = graph_pb2.GraphDef.FromString(graph.as_graph_def().SerializeToString()).node
    assert private.constant_value(node).tolist() == [1.5, 2.5]


def test_the_default_graph_is_a_func_graph_inside_a_function() -> None:
    seen = []
    graph_of(lambda: seen.append(ops.get_default_graph()))
    assert isinstance(seen[0], func_graph.FuncGraph)


def test_python_values_become_eager_tensors_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = private.constant_op.convert_to_eager_tensor, []

    def spy(value: Any, ctx: Any, dtype: Any = None) -> Any:
        seen.append(value)
        return real(value, ctx, dtype)

    monkeypatch.setattr(private.constant_op, "convert_to_eager_tensor", spy)
    tf.constant(1.5)
    tf.convert_to_tensor([2.5])
    tf.Variable(3.5)
    assert seen[:2] == [1.5, [2.5]] and 3.5 in seen


def test_a_value_can_be_made_a_tensor_past_that_place() -> None:
    made = private.as_tensor([1.0, 2.0])
    assert made is not None and made.numpy().tolist() == [1.0, 2.0]
    assert private.as_tensor(object()) is None


def test_a_variable_can_be_read_unheard() -> None:
    variable = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        value = tf_variables.read_variable(variable)
    assert value is not None and float(value) == 2.0
    assert tape.gradient(value, variable) is None


def test_every_way_to_a_number_of_python_is_one_method(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    real = private.TensorBase._numpy

    def spy(tensor: Any) -> Any:
        read.append(tensor)
        return real(tensor)

    monkeypatch.setattr(private.TensorBase, "_numpy", spy)
    x = tf.constant(2.0)
    for way in (lambda: x.numpy(), lambda: float(x), lambda: str(x), lambda: f"{x}", lambda: bool(x > 1.0)):
        read.clear()
        way()
        assert read
    read.clear()
    assert private.array_of(x) == 2.0 and not read


def test_a_function_that_keeps_values_for_its_gradient_knows_what_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[int, int | None]] = []
    for entry in ("TFE_Py_Execute", "TFE_Py_ExecuteCancelable"):
        real = getattr(pywrap_tfe, entry)

        def spy(*args: Any, real: Any = real) -> Any:
            if "__forward_" in str(args[2]):
                found.append((args[-1], private.user_outputs(sys._getframe(1))))
            return real(*args)

        monkeypatch.setattr(pywrap_tfe, entry, spy)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: tf.math.log(x) * tf.exp(x))(x)
    tape.gradient(y, x)
    ((all_outputs, of_the_user),) = found
    assert of_the_user == 1 and all_outputs > 1


def test_variables_are_read_and_written_by_ops_of_these_names() -> None:
    variable = tf.Variable([1.0, 2.0])
    assert isinstance(variable, private.Variable)
    known = private.ops_that_write()
    assert {"AssignVariableOp", "AssignAddVariableOp", "ResourceApplyAdam", "ResourceScatterAdd"} <= known
    assert "ReadVariableOp" not in known


def test_autograph_knows_what_its_lines_were_made_of() -> None:
    def outer(x: Any) -> Any:
        def inner() -> Any:
            return x + 1  # converted

        return inner

    code = tf.autograph.to_graph(outer)(1).__code__
    assert autograph.is_generated(code.co_filename)
    lines = [line for _, _, line in code.co_lines() if line is not None]
    written = [autograph.original_frame((code.co_filename, line, code.co_name)) for line in lines]
    assert (__file__, marked("converted")) in [frame[:2] for frame in written if frame is not None]


def test_a_trace_says_what_it_was_made_for() -> None:
    from tensorflow.python.eager.polymorphic_function import polymorphic_function

    function = tf.function(lambda x, by: x * by)
    assert (
        isinstance(function, polymorphic_function.Function) and function.python_function.__code__.co_name == "<lambda>"
    )
    concrete = function.get_concrete_function(tf.ones([2]), 3)
    assert isinstance(concrete, private.ConcreteFunction)
    words = {name: str(one.type_constraint) for name, one in concrete.function_type.parameters.items()}
    assert words == {"x": "TensorSpec(shape=(2,), dtype=tf.float32, name=None)", "by": "Literal[3]"}


def test_eager_code_knows_of_tapes_loops_and_gradients() -> None:
    seen: list[tuple[bool, bool]] = []

    @tf.custom_gradient
    def twice(x: Any) -> Any:
        def grad(upstream: Any) -> Any:
            seen.append(private.eager_surroundings(sys._getframe()))
            return 2 * upstream

        return 2 * x, grad

    def body(i: Any) -> Any:
        seen.append(private.eager_surroundings(sys._getframe()))
        return (i + 1,)

    x = tf.constant(1.0)
    assert not private.is_taped() and private.eager_surroundings(sys._getframe()) == (False, False)
    with tf.GradientTape() as tape:
        tape.watch(x)
        assert private.is_taped()
        y = twice(x)
    tape.gradient(y, x)
    tf.while_loop(lambda i: i < 1, body, [tf.constant(0)])
    assert seen == [(False, True), (True, False)]


def test_functions_of_python_in_graphs_are_put_into_a_registry_and_called_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added, called = list[Any](), list[Any]()
    real_insert, real_call = private.FuncRegistry.insert, private.FuncRegistry.__call__

    def insert(self: Any, func: Any) -> Any:
        added.append(real_insert(self, func))
        return added[-1]

    def call(self: Any, token: Any, device: Any, args: Any) -> Any:
        made = real_call(self, token, device, args)
        called.append((token, made))
        return made

    monkeypatch.setattr(private.FuncRegistry, "insert", insert)
    monkeypatch.setattr(private.FuncRegistry, "__call__", call)
    signature = tf.TensorSpec([], tf.string)
    assert len(list(tf.data.Dataset.from_generator(lambda: iter(["a", "b"]), output_signature=signature))) == 2
    texts = [made for token, made in called if token in added and isinstance(made, list)]
    assert [[one.dtype.kind for one in made] for made in texts] == [["O"], ["O"]]
