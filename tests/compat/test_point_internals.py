"""What points in graphs need of TensorFlow's private parts is there, and does what is assumed."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tensorsleuth.recording.tensorflow import function_calls, tracing


def test_ops_that_have_to_run_in_no_order() -> None:
    from tensorflow.python.framework import auto_control_deps

    assert isinstance(auto_control_deps.MUST_RUN_ORDER_INSENSITIVE_STATEFUL_OPS, frozenset)


def test_the_end_of_each_call_is_heard_of_also_where_it_raises() -> None:
    ended = list[str]()
    function_calls.on_end(lambda name, inputs: ended.append(name))
    double = tf.function(lambda x: tf.debugging.check_numerics(x, "x") * 2.0)
    one = tf.constant(1.0)
    double(one), double(one), double.get_concrete_function(one)(one)
    with pytest.raises(tf.errors.InvalidArgumentError):
        double(one / 0.0)
    assert len(ended) == 4


def test_a_graph_knows_that_it_will_be_compiled() -> None:
    seen: list[bool] = []

    def inner(x: Any) -> Any:
        seen.append(tracing.is_compiled())
        return x

    for compiled in (False, True):
        traced = tf.function(inner)  # a function that was traced before is not traced again
        tf.function(lambda x, traced=traced: traced(x), jit_compile=compiled)(tf.constant(1))
    assert seen == [False, True]
