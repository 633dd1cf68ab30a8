"""Loops and conditionals are recorded iteration by iteration, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tests.compat.looking import Look, assert_joined, in_graph, marked, only

from tensorsleuth.trace.reader import Trace

Compared = Callable[..., Trace]
X = tf.constant([1.0, 2.0, 3.0])


def iterations(found: list[Look]) -> list[int]:
    return sorted(look.iteration for look in found)


def test_a_loop_and_its_gradient(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                for _ in tf.range(4):
                    y = tf.sin(y)  # sine in a loop
            return y, tape.gradient(y, x)  # gradient of the loop

        return function(X)

    trace = compared(program)
    forward, backward = in_graph(trace, "Sin"), in_graph(trace, "Cos")
    assert iterations(forward) == iterations(backward) == [0, 1, 2, 3]
    assert {look.line for look in forward} == {marked("sine in a loop")}
    assert {look.line for look in backward} == {marked("gradient of the loop")}
    assert {look.forward_line for look in backward} == {marked("sine in a loop")}
    assert_joined(trace)


def test_a_loop_differentiated_from_outside(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            for _ in tf.range(3):
                x = tf.sin(x)  # sine differentiated from outside
            return x

        with tf.GradientTape() as tape:
            tape.watch(X)
            y = function(X)
        return tape.gradient(y, X)

    trace = compared(program)
    assert iterations(in_graph(trace, "Sin")) == [0, 1, 2]
    backward = in_graph(trace, "Cos")
    assert iterations(backward) == [0, 1, 2]
    assert {look.forward_line for look in backward} == {marked("sine differentiated from outside")}


def test_nested_loops_are_told_apart(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            for _ in tf.range(2):
                for _ in tf.range(3):
                    x = tf.sin(x)
            return x

        return function(X)

    found = in_graph(compared(program), "Sin")
    assert iterations(found) == [0, 0, 1, 1, 2, 2]
    assert len({int(look.row["frame"]) for look in found}) == 2


def test_a_loop_that_breaks_and_one_that_never_runs(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any, limit: Any) -> Any:
            for i in tf.range(10):
                if i == limit:
                    break
                x = tf.sin(x)
            return x

        return function(X, tf.constant(3)), function(X, tf.constant(0))

    assert iterations(in_graph(compared(program), "Sin")) == [0, 1, 2]


def test_while_loop_options(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            def body(i: Any, y: Any) -> Any:
                return i + 1, tf.sin(y) / tf.cast(2 - i, tf.float32)  # division in a loop

            options = {"parallel_iterations": 2, "swap_memory": True, "maximum_iterations": 4}
            with tf.GradientTape() as tape:
                tape.watch(x)
                _, y = tf.while_loop(lambda i, _: i < 9, body, (tf.constant(0), x), **options)
            return y, tape.gradient(y, x)

        return function(X)

    divisions = in_graph(compared(program), "RealDiv", marked("division in a loop"))
    assert sorted((look.iteration, look.bad) for look in divisions) == [(0, False), (1, False), (2, True), (3, True)]


def test_an_eager_while_loop(compared: Compared) -> None:
    step = tf.function(lambda i, x: (i + 1, tf.sin(x)))
    trace = compared(lambda: tf.while_loop(lambda i, _: i < 3, step, (tf.constant(0), X))[1])
    assert len({look.call for look in in_graph(trace, "Sin")}) == 3


def test_only_the_branch_that_ran_has_rows(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                if tf.reduce_sum(x) > 0.0:  # noqa: SIM108 (a branch, not a choice)
                    y = tf.math.log(x)  # the branch taken
                else:
                    y = tf.exp(x)
            return y, tape.gradient(y, x)

        return function(X)

    trace = compared(program)
    assert only(in_graph(trace, "Log")).line == marked("the branch taken")
    assert in_graph(trace, "Exp") == []
    (backward,) = (look for look in in_graph(trace) if look.type in ("Reciprocal", "RealDiv", "Xdivy"))
    assert backward.forward_line == marked("the branch taken")


def test_switch_case(compared: Compared) -> None:
    def program() -> Any:
        branches = [lambda: tf.sin(X), lambda: tf.math.log(X - 1.0), lambda: tf.exp(X)]
        function = tf.function(lambda i: tf.switch_case(i, branches))
        return function(tf.constant(1)), function(tf.constant(2))

    trace = compared(program)
    assert in_graph(trace, "Sin") == []
    assert only(in_graph(trace, "Log")).bad
    assert only(in_graph(trace, "Exp")).row["max"] > 20.0


def test_map_fn_scan_and_vectorized_map(compared: Compared) -> None:
    def program() -> Any:
        mapped = tf.function(lambda x: tf.map_fn(lambda e: tf.sin(e), x))
        scanned = tf.function(lambda x: tf.scan(lambda total, e: tf.exp(-e) + total, x))
        vectorized = tf.function(lambda x: tf.vectorized_map(lambda e: tf.tanh(e), x))
        return mapped(X), scanned(X), vectorized(X), tf.map_fn(lambda e: tf.cosh(e), X)

    trace = compared(program)
    assert iterations(in_graph(trace, "Sin")) == [0, 1, 2]
    assert iterations(in_graph(trace, "Exp")) == [0, 1]
    assert only(in_graph(trace, "Tanh")).process.shape_of(only(in_graph(trace, "Tanh")).row) == (3,)
    assert_joined(trace)


def test_tensor_arrays(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
            for i in tf.range(3):
                array = array.write(i, tf.sin(x[i]))
            return array.stack(), array.read(1)

        return function(X)

    assert iterations(in_graph(compared(program), "Sin")) == [0, 1, 2]


def test_a_loop_over_a_dataset_in_a_function(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(dataset: Any) -> Any:
            total = tf.constant(0.0)
            for x in dataset:
                total += tf.sin(x)  # sine over a dataset
            return total

        return function(tf.data.Dataset.from_tensor_slices(X))

    found = in_graph(compared(program), "Sin")
    assert len(found) == 3
    assert {look.line for look in found} == {marked("sine over a dataset")}


def test_a_loop_with_no_optimizer_pass(compared: Compared) -> None:
    """Without the graph optimizer the probes are put into the copy itself."""
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        function = tf.function(lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 50.0, lambda y: [tf.exp(y)], [x]))
        found = in_graph(compared(lambda: function(X)), "Exp")
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False, **before})
    assert iterations(found) == list(range(len(found))) and found
