"""Each private part of TensorFlow that recording/tensorflow/custom_ops.py touches is there and does what is assumed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.client import session
from tensorflow.python.eager import context, core
from tensorflow.python.eager.polymorphic_function import function_context, tracing_compilation
from tensorflow.python.ops import control_flow_util
from tensorflow.python.saved_model import save

from tensorsleuth.live.expect.api import expect


def test_calls_go_through_the_context() -> None:
    assert list(inspect.signature(context.Context.call_function).parameters) == [
        "self",
        "name",
        "tensor_inputs",
        "num_outputs",
    ]


@pytest.mark.parametrize(
    ("owner", "name"),
    [(core, "_status_to_exception"), (session.BaseSession, "_do_call"), (save, "_build_meta_graph")],
)
def test_what_is_replaced_is_there(owner: Any, name: str) -> None:
    assert callable(getattr(owner, name))


def test_the_key_of_traced_functions_has_a_place_for_xla() -> None:
    made = function_context.make_function_context()
    assert made.context._replace(xla_context_id=-1).xla_context_id == -1
    assert type(made)(made.context, made.scope_type) == made
    assert tracing_compilation.function_context is function_context  # where it is looked up


@pytest.mark.parametrize("jit", [False, True])
def test_a_graph_knows_that_it_will_be_compiled(jit: bool) -> None:
    found = []

    def look(x: Any) -> Any:
        found.append(control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph()))
        return x

    @tf.function(jit_compile=jit)
    def around(x: Any) -> Any:
        return tf.while_loop(lambda x: x < 1.0, lambda x: tf.function(look)(x) + 1.0, [x])

    around.get_concrete_function(tf.TensorSpec([]))
    assert found and set(found) == {jit}


def test_ops_may_run_independently() -> None:
    managers = []

    @tf.function
    def run(x: Any) -> Any:
        managers.append(tf.compat.v1.get_default_graph().experimental_acd_manager)
        return x

    run.get_concrete_function(tf.TensorSpec([]))
    assert callable(managers[0].run_independently)


def test_autograph_leaves_it_alone() -> None:
    from tensorflow.python.autograph.impl import api

    assert api.is_autograph_artifact(expect)
