"""Gradients know what they differentiate: tapes in and outside of functions, tf.gradients, custom ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tests.compat.looking import Look, assert_joined, in_graph, looks, marked, only

from tensorsleuth.trace.reader import Trace

Compared = Callable[..., Trace]
X = tf.constant([1.0, 2.0, 0.0])


def gradients_of(trace: Trace, line: int) -> list[Look]:
    """The rows of ops that differentiate an op on that line."""
    found = []
    for look in looks(trace):
        node, eager = look.tensor.node, look.tensor.eager
        if (node is not None and node.forward is not None) or (eager is not None and eager.forward > 0):
            found += [look] if look.forward_line == line else []
    return found


def test_a_tape_in_a_function(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.sqrt(x)  # sqrt under a tape
            return tape.gradient(y, x)  # gradient in a function

        return function(X)

    trace = compared(program)
    found = gradients_of(trace, marked("sqrt under a tape"))
    assert found and {look.line for look in found} == {marked("gradient in a function")}
    assert any(look.bad and look.type == "SqrtGrad" for look in found)
    assert_joined(trace)


def test_a_tape_outside_an_eager_op(compared: Compared) -> None:
    def program() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = tf.sqrt(X)  # eager sqrt under a tape
        return tape.gradient(y, X)  # eager gradient

    trace = compared(program)
    (found,) = (look for look in gradients_of(trace, marked("eager sqrt under a tape")) if look.type == "SqrtGrad")
    assert found.bad and not found.in_graph
    assert found.line == marked("eager gradient")
    assert_joined(trace)


def test_a_tape_outside_a_function(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            return tf.sqrt(x)  # sqrt differentiated from outside

        with tf.GradientTape() as tape:
            tape.watch(X)
            y = function(X)
        return tape.gradient(y, X)

    trace = compared(program)
    found = gradients_of(trace, marked("sqrt differentiated from outside"))
    assert found and all(look.in_graph for look in found)
    assert any(look.bad for look in found)
    assert_joined(trace)


def test_tf_gradients_in_a_function(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            y = tf.sqrt(x)  # sqrt before tf.gradients
            return tf.gradients(y, x)

        return function(X)

    found = gradients_of(compared(program), marked("sqrt before tf.gradients"))
    assert any(look.type == "SqrtGrad" and look.bad for look in found)


def test_second_order(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = tf.math.log(x)  # log differentiated twice
                first = inner.gradient(y, x)
            return first, outer.gradient(first, x)

        with tf.GradientTape() as outer:
            outer.watch(X)
            with tf.GradientTape() as inner:
                inner.watch(X)
                y = tf.math.log(X)  # eager log differentiated twice
            first = inner.gradient(y, X)
        return *function(X), first, outer.gradient(first, X)

    trace = compared(program)
    assert len(gradients_of(trace, marked("log differentiated twice"))) >= 2
    assert gradients_of(trace, marked("eager log differentiated twice"))


def test_a_persistent_tape_and_jacobians(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = tf.sin(x) * x
                z = tf.cosh(x)
            return tape.gradient(y, x), tape.gradient(z, x), tape.jacobian(y, x)

        with tf.GradientTape() as tape:
            tape.watch(X)
            y = tf.sin(X) * X
        return *function(X), tape.jacobian(y, X)

    assert_joined(compared(program))


def test_custom_gradients(compared: Compared) -> None:
    def program() -> Any:
        @tf.custom_gradient
        def clipped(x: Any) -> Any:
            def grad(upstream: Any) -> Any:
                return tf.math.xdivy(upstream, x) + tf.math.log(x)  # in a custom gradient

            return tf.sqrt(x), grad  # under a custom gradient

        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = clipped(x)
            return y, tape.gradient(y, x)

        with tf.GradientTape() as tape:
            tape.watch(X)
            y = clipped(X)
        return *function(X), tape.gradient(y, X)

    trace = compared(program)
    found = looks(trace, "Log", marked("in a custom gradient"))
    assert sorted(look.in_graph for look in found) == [False, True]
    assert all(look.bad for look in found)
    assert len(looks(trace, "Sqrt", marked("under a custom gradient"))) == 2
    assert_joined(trace)


def test_recompute_grad(compared: Compared) -> None:
    def program() -> Any:
        weight = tf.Variable([1.0, 2.0, 3.0])

        @tf.recompute_grad
        def block(x: Any) -> Any:
            return tf.sin(tf.exp(x) * weight)

        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                y = block(x)
            return y, tape.gradient(y, weight)

        return function(X)

    trace = compared(program)
    assert in_graph(trace, "Exp")  # at least once: the graph optimizer may merge the two
    assert in_graph(trace, "Cos")
    assert_joined(trace)


def test_the_gradient_of_an_embedding_is_slices(compared: Compared) -> None:
    def program() -> Any:
        table = tf.Variable(tf.ones([5, 2]))

        @tf.function
        def function(ids: Any) -> Any:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.math.log(tf.nn.embedding_lookup(table, ids) - 1.0))
            slices = tape.gradient(y, table)
            table.scatter_nd_sub(slices.indices[:, None], slices.values)
            return y, slices.values, table.read_value()

        return function(tf.constant([1, 3]))

    trace = compared(program)
    assert only(in_graph(trace, "Log")).bad
    assert_joined(trace)


def test_gradients_through_nested_functions_find_the_inner_line(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def inner(x: Any) -> Any:
            return tf.sqrt(x)  # sqrt of an inner function

        @tf.function
        def train(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(inner(x))
            return tape.gradient(y, x)

        return train(X)

    found = gradients_of(compared(program), marked("sqrt of an inner function"))
    assert any(look.bad for look in found)
