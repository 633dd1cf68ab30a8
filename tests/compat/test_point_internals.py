"""What points in graphs need of TensorFlow's private parts is there, and does what is assumed."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tensorsleuth.capture import graph_points, tracing
from tensorsleuth.capture.patches import Patches


def test_ops_that_have_to_run_in_no_order() -> None:
    from tensorflow.python.framework import auto_control_deps

    assert isinstance(auto_control_deps.MUST_RUN_ORDER_INSENSITIVE_STATEFUL_OPS, frozenset)


def test_the_end_of_each_call_of_a_function_is_counted() -> None:
    from tensorflow.python.eager.polymorphic_function import polymorphic_function

    patches, ended = Patches(), list[str]()
    graph_points._watch_calls(patches, lambda: ended.append("call"))
    double = polymorphic_function.function(lambda x: x * 2)
    double(tf.constant(1)), double(tf.constant(2))
    patches.undo()
    double(tf.constant(3))
    assert ended == ["call", "call"]


def test_a_graph_knows_that_it_will_be_compiled() -> None:
    seen: list[bool] = []

    def inner(x: Any) -> Any:
        seen.append(tracing.is_compiled())
        return x

    for compiled in (False, True):
        traced = tf.function(inner)  # one that was traced before is not traced again
        tf.function(lambda x, traced=traced: traced(x), jit_compile=compiled)(tf.constant(1))
    assert seen == [False, True]
