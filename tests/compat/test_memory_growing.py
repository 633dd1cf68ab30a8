"""Which dimensions grow with the batch and the sequence, on a real TensorFlow: programs whose shapes are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.batch_size.dims import BATCH, SEQUENCE, growth_power
from tensorsleuth.analyze.memory.batch_size.scaling import TensorScaling
from tensorsleuth.analyze.memory.labels import WEIGHTS
from tensorsleuth.trace.query.query import process_indexes
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
B, S, HEADS, WIDTH, DEPTH = 8, 64, 8, 64, 32  # as many heads as samples, as wide as long: sizes alone are ambiguous


class Found:
    """The powers of batch and sequence of all large tensors, by the type of their op."""

    def __init__(self, trace: Trace) -> None:
        (asked,) = process_indexes(trace)
        account = MemoryAccount(asked)
        self.growing = TensorScaling(asked)
        self.powers: dict[str, set[tuple[tuple[int, ...], int, int]]] = {}
        for life in account.lifetimes.all:
            label, dims = account.labels.label_of(life), self.growing.dims(life)
            if dims is not None and label.kind != WEIGHTS and label.shape is not None:
                found = (label.shape, growth_power(dims, BATCH), growth_power(dims, SEQUENCE))
                self.powers.setdefault(label.op, set()).add(found)

    def of(self, op: str) -> set[tuple[tuple[int, ...], int, int]]:
        return self.powers.get(op, set())


def attention(x: Any, weights: Any) -> Any:
    """Written out, with the sizes as plain numbers."""
    qkv = tf.reshape(tf.matmul(tf.reshape(x, [-1, WIDTH]), weights), [B, S, 3, HEADS, DEPTH])
    query, key, value = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    scores = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
    return tf.transpose(tf.matmul(scores, value), [0, 2, 1, 3])


def test_attention_grows_twice_with_the_sequence(recorded: Recorded) -> None:
    tokens = np.random.default_rng(0).integers(50, size=(B, S + 1)).astype(np.int32)
    table = tf.Variable(tf.random.normal([50, WIDTH]))
    weights = tf.Variable(tf.random.normal([WIDTH, 3 * HEADS * DEPTH]))

    @tf.function
    def step(tokens: Any) -> Any:
        with tf.GradientTape() as tape:
            y = attention(tf.gather(table, tokens[:, :-1]), weights)
            loss = tf.reduce_sum(y * y)
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    found = Found(recorded(lambda: step(tf.constant(tokens))))
    assert (found.growing.batch, found.growing.sequence) == (B, S + 1)
    assert ((B, HEADS, S, S), 1, 2) in found.of("Softmax")
    assert {one[1:] for one in found.of("BatchMatMulV2") if one[0] == (B, HEADS, S, S)} == {(1, 2)}, "also gradients"
    assert ((B * S, 3 * HEADS * DEPTH), 1, 1) in found.of("MatMul")
    assert ((WIDTH, 3 * HEADS * DEPTH), 0, 0) in found.of("MatMul"), "the gradient of the weights"
    assert not any(batch > 1 or sequence > 2 for all in found.powers.values() for _, batch, sequence in all)


def test_a_keras_model_of_unknown_batch(recorded: Recorded) -> None:
    layer = tf.keras.layers
    inputs = tf.keras.Input((16, 16, 8))
    x = layer.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    x = layer.MaxPool2D()(layer.BatchNormalization()(x))
    model = tf.keras.Model(inputs, layer.Dense(64)(layer.Flatten()(x)))
    model.compile("adam", "mse")
    data = np.zeros((2 * 16 + 8, 16, 16, 8), np.float32)  # the last batch is smaller

    found = Found(recorded(lambda: model.fit(data, np.zeros((40, 64), np.float32), batch_size=16, verbose=0)))
    assert (found.growing.batch, found.growing.sequence) == (16, None)
    kinds = {shape: batch for all in found.powers.values() for shape, batch, _ in all}
    assert all(kinds[shape] == 1 for shape in kinds if shape[0] in (8, 16) and len(shape) == 4)
    assert (16, 16, 16, 16) in kinds, "of whichever op wrote to its memory last"
    assert ((1024, 64), 0, 0) in found.of("MatMul"), "the gradient of the dense layer"


@pytest.mark.parametrize("wrapped", [True, False], ids=["in a function", "eagerly"])
def test_rows_of_features_are_a_sequence_unless_weights_are_as_long(recorded: Recorded, wrapped: bool) -> None:
    kernel = tf.Variable(tf.random.normal([32, 128]))
    flat = tf.Variable(tf.random.normal([S * 32, 64]))

    def free(x: Any) -> Any:
        return tf.nn.relu(tf.einsum("bsf,fg->bsg", x, kernel))

    def bound(x: Any) -> Any:
        return free(x), tf.matmul(tf.reshape(x, [B, S * 32]), flat)

    def program(function: Any) -> Any:
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.add_n([tf.reduce_sum(one) for one in tf.nest.flatten(function(x))])
            return tape.gradient(loss, kernel)

        run = tf.function(step) if wrapped else step
        return lambda: run(tf.constant(np.ones((B, S, 32), np.float32)))

    found = Found(recorded(program(free)))
    assert (found.growing.batch, found.growing.sequence) == (B, S)
    assert ((B, S, 128), 1, 1) in found.of("Relu")
    if wrapped:
        assert Found(recorded(program(bound))).growing.sequence is None


def test_functions_say_what_they_are_traced_for(recorded: Recorded) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None, 4])])
    def total(x: Any) -> Any:
        return tf.reduce_sum(x)

    (process,) = recorded(lambda: total(tf.ones([2, 3, 4]))).processes
    assert (-1, -1, 4) in [shape for one in process.catalogue.functions.values() for shape in one.argument_shapes]
