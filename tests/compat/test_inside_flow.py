"""Layers and attention are seen wherever they lie: behind loops, in them, in branches, in functions in functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

X = np.random.default_rng(1).normal(size=(4, 6, 8)).astype(np.float32)


class Block:
    """A dense layer, attention, a dense layer."""

    def __init__(self, keras: Any) -> None:
        self.wide = keras.layers.Dense(8, activation="relu", name="wide")
        self.mix = keras.layers.MultiHeadAttention(2, 4, name="mix")
        self.out = keras.layers.Dense(8, name="out")
        self(tf.constant(X))  # makes its variables

    def __call__(self, x: Any) -> Any:
        wide = self.wide(x)
        return self.out(self.mix(wide, wide))

    @property
    def variables(self) -> list[Any]:
        layers = (self.wide, self.mix, self.out)
        return [variable for layer in layers for variable in layer.trainable_variables]


def in_branch(block: Block, x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > -1e9, lambda: block(x), lambda: x)


def in_loop(block: Block, x: Any) -> Any:
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, block(x)), [0, x])[1]


def in_map(block: Block, x: Any) -> Any:
    return tf.map_fn(lambda one: block(one[None])[0], x)


def in_scan(block: Block, x: Any) -> Any:
    return tf.scan(lambda before, one: before + block(one[None])[0], x)


def checkpointed(block: Block, x: Any) -> Any:
    return tf.recompute_grad(block.__call__)(x)


def in_function(block: Block, x: Any) -> Any:
    return tf.function(block.__call__)(x)


def trained(block: Block, call: Callable[[Any], Any]) -> Callable[[], None]:
    """Trains for two steps."""

    @tf.function
    def train_step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(call(x) ** 2)
        for variable, gradient in zip(block.variables, tape.gradient(loss, block.variables), strict=True):
            variable.assign_sub(1e-4 * gradient)

    def train() -> None:
        for _ in range(2):
            train_step(tf.constant(X))

    return train


def outputs(inside: LayerStatistics) -> list[str]:
    """The layers of the block, in the order of the graph."""
    names = (layer.name for layer in inside.layers)
    return [name for name in names if name.startswith(("wide", "mix", "out"))]


EXPECTED = ["wide", "mix/query", "mix/key", "mix/value", "mix/attention_output", "out"]


@pytest.mark.parametrize("call", [in_branch, in_loop, in_map, in_scan, checkpointed, in_function])
def test_wherever_a_block_is_called(recorded: Callable[..., Trace], call: Callable[[Block, Any], Any]) -> None:
    block = Block(tf.keras)
    inside = recorded(trained(block, lambda x: call(block, x))).inside()
    assert [(one.name, one.steps.tolist()) for one in inside.attention] == [("mix", [0, 1])]
    assert sorted(outputs(inside)) == sorted(EXPECTED)


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
@pytest.mark.parametrize("name", KERASES)
def test_behind_a_loop(recorded: Callable[..., Trace], name: str, kind: str) -> None:
    """The loop takes lists that its gradient asked for: what comes behind it is the forward pass nevertheless."""
    keras = kerases.load(name)
    block, cell = Block(keras), getattr(keras.layers, f"{kind}Cell")(8, name="cell")
    rnn = keras.layers.RNN(cell, return_sequences=True, name="rnn")  # with one of Keras's own cells it is a loop
    rnn(tf.constant(X))
    inside = recorded(trained(block, lambda x: block(rnn(x)))).inside()
    assert [(one.name, one.steps.tolist()) for one in inside.attention] == [("mix", [0, 1])]
    assert sorted(outputs(inside)) == sorted(EXPECTED)
    of_loop = [layer.name for layer in inside.layers if layer.name.startswith("rnn")]
    states = [f"rnn/cell{more}" for more in ("", ":1")[: 1 if kind == "GRU" else 2]]
    assert sorted(of_loop) == ["rnn", *states]  # not everything that the gradient needs from an iteration


@pytest.mark.parametrize("around", [None, in_loop])
def test_a_tape_around_the_function(recorded: Callable[..., Trace], around: Callable[[Block, Any], Any] | None) -> None:
    """The function then returns all that the gradient needs: that does not leave the layers."""
    block = Block(tf.keras)
    call = tf.function(lambda x: around(block, x) if around is not None else block(x))

    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(call(tf.constant(X)) ** 2)
        tape.gradient(loss, block.variables)

    inside = recorded(train).inside()
    assert sorted(outputs(inside)) == sorted(EXPECTED) and [one.name for one in inside.attention] == ["mix"]


def test_a_sum_that_the_graph_optimiser_takes_apart(recorded: Callable[..., Trace]) -> None:
    """It computes the sum of two of three parts first, under a name that ends like that of the whole."""
    norm = tf.keras.layers.LayerNormalization(name="norm")
    norm(tf.constant(X))
    norm.set_weights([np.full(8, 1.0, np.float32), np.full(8, 10.0, np.float32)])

    @tf.function
    def call(x: Any) -> Any:
        return tf.exp(norm(x))

    [layer] = recorded(lambda: call(tf.constant(X))).inside().layers
    np.testing.assert_allclose(layer.mean, [10.0], rtol=1e-4)
