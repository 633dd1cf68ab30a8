"""Each private part of TensorFlow's sessions that recording/ touches is there, and does what is assumed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf

from tensorsleuth.recording.tensorflow import internals as private
from tensorsleuth.recording.tensorflow import sessions as tf_sessions


def test_every_way_to_run_a_session_that_is_watched() -> None:
    session = private.session.BaseSession
    wanted = ["self", "handle", "target_list", "fetch_list", "feed_dict", "options", "run_metadata"]
    assert list(inspect.signature(session._do_run).parameters) == wanted
    raw = ["self", "options", "feed_dict", "fetch_list", "target_list", "run_metadata"]
    assert list(inspect.signature(session._call_tf_sessionrun).parameters) == raw
    assert list(inspect.signature(session._make_callable_from_options).parameters) == ["self", "callable_options"]


def test_a_graph_knows_what_the_c_api_calls_its_ops_and_tensors() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [])
        found = tf_sessions.resolve_run(graph, [x.op._c_op], [x._as_tf_output()], {x._as_tf_output(): 1.0})
    assert found[0] == [x.op] and found[1][0] is x and {ref.deref() is x for ref in found[2]} == {True}


def test_a_session_hands_over_tensors_and_knows_its_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []
    real = private.session.BaseSession._do_run

    def spy(*args: Any) -> Any:
        seen.append(args)
        return real(*args)

    monkeypatch.setattr(private.session.BaseSession, "_do_run", spy)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = x + 1.0
        session.run([y, y.op], {x: 1.0})
        ((_, handle, targets, fetches, feeds, _, _),) = seen
        assert handle is None and targets == [y.op] and fetches[0] is y and [ref.deref() for ref in feeds] == [x]
        assert session._target == b"" or session._target == ""
        assert tf_sessions.op_number(x.op) < tf_sessions.op_number(y.op)
        assert graph._functions == {} and tf_sessions.why_not_optimized(session) is None
    interactive = tf.compat.v1.InteractiveSession(graph=graph)
    assert "InteractiveSession" in str(tf_sessions.why_not_optimized(interactive))
    interactive.close()


def test_a_session_optimizes_on_the_thread_that_runs_it_and_leaves_its_nodes_names() -> None:
    """How native/src/tf1_runs.cc knows which graph the optimiser has before it; tests of sessions show the rest."""
    with tf.Graph().as_default() as graph:
        variable = tf.compat.v1.get_variable("w", [2], use_resource=False)
        assert variable.op.type == "VariableV2" and variable.op.outputs[0].dtype.base_dtype == tf.float32
        assert tf_sessions.datatype(variable.op.outputs[0]) == 1
        assert tf_sessions.trainable_variables(graph) == {"w"} and tf_sessions.variable_shape(variable.op) == [2]
        called = tf.function(lambda x: x + 1.0)(variable)
        name = called.op.get_attr("f").name
        definition = tf_sessions.function_in(graph, name)
        assert definition is not None and definition.signature.name == name
