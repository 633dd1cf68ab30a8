"""Tensors of every dtype and shape, and variables of every kind, get rows that say the right thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import assert_joined, in_graph, looks, only

from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.trace.reader import Trace

Compared = Callable[..., Trace]
INTEGERS = [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128])
def test_floats(compared: Compared, dtype: Any) -> None:
    values = tf.cast([1.0, 4.0, 0.0], dtype)
    trace = compared(lambda: [tf.function(lambda x: tf.math.reciprocal(x))(values), tf.math.reciprocal(values)])
    graph, eager = sorted(looks(trace, "Reciprocal"), key=lambda look: not look.in_graph)
    for look in (graph, eager):
        assert look.bad and look.row["dtype"] == dtype.as_datatype_enum
        assert int(look.row["nan"]) + int(look.row["pos_inf"]) == 1
        assert look.row["first_bad"] == 2
        if not dtype.is_complex:
            assert (look.row["min"], look.row["max"]) == (0.25, 1.0)
    assert graph.in_graph and not eager.in_graph


@pytest.mark.parametrize("mode", ["SHAPE", "FULL_NUMERICS", "FULL_HEALTH"])
@pytest.mark.parametrize("dtype", [*INTEGERS, tf.bool])
def test_integers_and_bools(compared: Compared, dtype: Any, mode: str) -> None:
    values = tf.cast([0, 1, 1, 1], dtype)
    double: Callable[[Any], Any] = tf.math.logical_not if dtype == tf.bool else (lambda x: x + x)
    trace = compared(lambda: [tf.function(double)(values), double(values)], mode=mode)
    kind = "LogicalNot" if dtype == tf.bool else "AddV2"
    found = looks(trace, kind)
    if mode == "FULL_HEALTH":
        assert found == []
        return
    assert sorted(look.in_graph for look in found) == [False, True]
    for look in found:
        assert look.process.shape_of(look.row) == (4,)
        assert bool(look.row["flags"] & EventFlag.MOMENTS) == (mode == "FULL_NUMERICS")
        if mode == "FULL_NUMERICS":
            assert look.row["max"] == (1 if dtype == tf.bool else 2)
            assert int(look.row["zero"]) == (3 if dtype == tf.bool else 1)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 2, 1, 2, 1, 2), (1, 1, 2, 1, 1, 1, 2, 1), (2,) * 9])
def test_shapes(compared: Compared, shape: tuple[int, ...]) -> None:
    x = tf.ones(shape)
    trace = compared(lambda: [tf.function(lambda x: tf.exp(x))(x), tf.exp(x)], mode="FULL_NUMERICS")
    found = looks(trace, "Exp")
    assert sorted(look.in_graph for look in found) == [False, True]
    for look in found:
        assert look.process.shape_of(look.row) == shape[:8]
        assert look.row["pos"] == np.prod(shape, dtype=int)
        assert not look.bad


def test_strings_resources_and_variants_do_no_harm(compared: Compared) -> None:
    def program() -> Any:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 0.0]), -1.0)

        @tf.function
        def function(text: Any) -> Any:
            words = tf.strings.split(text).flat_values
            numbers = table.lookup(words)
            return tf.strings.join([text, "!"]), tf.math.log(numbers), tf.strings.as_string(numbers)

        text, logs, strings = function(tf.constant(["a b", "b"]))
        return logs, [item.decode() for item in text.numpy()], [item.decode() for item in strings.numpy()]

    trace = compared(lambda: program()[0], mode="FULL_TENSOR")
    assert only(in_graph(trace, "Log")).bad
    assert_joined(trace)


def test_variables(compared: Compared) -> None:
    def program() -> Any:
        plain = tf.Variable([1.0, 2.0])
        unknown = tf.Variable([1.0], shape=tf.TensorShape(None))
        frozen = tf.Variable(3.0, trainable=False)
        counter = tf.Variable(0, dtype=tf.int64)
        half = tf.Variable([1.0, 2.0], dtype=tf.float16)
        text = tf.Variable("text")

        @tf.function
        def function() -> Any:
            plain.assign(tf.math.log(plain))
            unknown.assign(tf.ones([2, 2]) * frozen)
            counter.assign_add(1)
            half.assign_sub(half * tf.cast(0.5, tf.float16))
            plain.scatter_nd_add([[0]], [1.0])
            return plain + 1.0, unknown.read_value(), counter.read_value(), half[:1]

        results = [function(), function()]
        text.assign("other")
        plain.assign_add(tf.exp(plain))
        return results, plain.numpy(), half.numpy()

    trace = compared(program)
    assert [look.bad for look in in_graph(trace, "Log")] == [False, False]
    assert len({look.call for look in in_graph(trace, "Log")}) == 2
    assert only(looks(trace, "Exp")).step == 0  # nothing has trained
    assert_joined(trace)


def test_variables_made_in_a_function(compared: Compared) -> None:
    def program() -> Any:
        made: list[Any] = []

        @tf.function
        def function(x: Any) -> Any:
            if not made:
                made.append(tf.Variable(lambda: tf.exp(tf.random.uniform([3]))))
            made[0].assign_add(tf.sin(x))
            return made[0].read_value()

        return function(tf.ones([3])), function(tf.zeros([3]))

    trace = compared(program)
    assert len(in_graph(trace, "Sin")) == 2
    assert looks(trace, "Exp")


def test_random_ops_give_the_same_numbers(compared: Compared) -> None:
    def program() -> Any:
        generator = tf.random.Generator.from_seed(5)

        @tf.function
        def function(x: Any) -> Any:
            noise = tf.random.normal([3]) + tf.random.stateless_uniform([3], [1, 2]) + generator.normal([3])
            return tf.nn.dropout(x, 0.5) + noise

        return [function(tf.ones([3])) for _ in range(3)], tf.random.normal([2])

    assert_joined(compared(program))


def test_a_tensor_with_many_outputs_and_unused_ones(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            parts = tf.split(x, 4)
            values, _ = tf.math.top_k(x, 2)
            mean, variance = tf.nn.moments(x, [0])
            left = tf.linalg.svd(tf.reshape(x, [2, 2]))[1]
            return parts[1] + parts[3], values, mean, variance, left

        return function(tf.constant([1.0, 2.0, 3.0, 4.0]))

    trace = compared(program)
    outputs = sorted(look.tensor.output for look in in_graph(trace, "Split"))
    assert outputs == [1, 3]
    assert_joined(trace)
