"""First weights of the wrong size, and sums of gradients that are never cleared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(4).normal(size=(32, 8)).astype("float32")
Y = X[:, :1]


def told(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.line) for one in (*found.findings, *found.notes)]


def initialised(keras: Any, initializer: Any, normalised: bool = False) -> None:
    keras.utils.set_random_seed(1)
    layers: list[Any] = [keras.layers.Input((8,))]
    for _ in range(4):
        layers += [keras.layers.Dense(64, "relu", kernel_initializer=initializer)]  # layer
        layers += [keras.layers.LayerNormalization()] if normalised else []
    model = keras.Sequential([*layers, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(X, Y, batch_size=8, epochs=2, verbose=0)


@pytest.mark.parametrize("deviation", [1.0, 0.001], ids=["large", "small"])
@pytest.mark.parametrize("name", KERASES)
def test_first_weights_of_the_wrong_size(recorded: Recorded, name: str, deviation: float) -> None:
    keras = kerases.load(name)
    drawn = keras.initializers.RandomNormal(stddev=deviation, seed=1)
    found = told(recorded(lambda: initialised(keras, drawn)))
    assert [one for one in found if one[0] == "poor-initialisation"] == [("poor-initialisation", marked("layer"))]


@pytest.mark.parametrize("name", KERASES)
def test_first_weights_that_fit_or_are_normalised_after(recorded: Recorded, name: str) -> None:
    keras = kerases.load(name)
    assert told(recorded(lambda: initialised(keras, "he_normal"))) == []
    large = keras.initializers.RandomNormal(stddev=1.0, seed=1)
    assert "poor-initialisation" not in [one[0] for one in told(recorded(lambda: initialised(keras, large, True)))]


# ---- gradients that are added up


def accumulating(clears: bool) -> tuple[Callable[[], Any], Callable[[], Any]]:
    weight = tf.Variable(np.ones((8, 1), "float32"))
    total = tf.Variable(tf.zeros((8, 1)), trainable=False)

    def gather() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(X @ weight - Y))
        total.assign_add(tape.gradient(loss, weight) / 4.0)  # add

    def update() -> None:
        weight.assign_sub(0.01 * total)
        if clears:
            total.assign(tf.zeros_like(total))

    return gather, update


@pytest.mark.parametrize("clears", [True, False])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_gradients_that_are_never_set_back(recorded: Recorded, compiled: bool, clears: bool) -> None:
    gather, update = (tf.function(one) if compiled else one for one in accumulating(clears))

    def train() -> None:
        for _ in range(3):
            for _ in range(4):
                gather()
            update()

    assert told(recorded(train)) == ([] if clears else [("accumulator-not-cleared", marked("add"))])


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_squares_that_adagrad_adds_up(recorded: Recorded, compiled: bool) -> None:
    weight, squares = tf.Variable(np.ones((8, 1), "float32")), tf.Variable(tf.zeros((8, 1)), trainable=False)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(X @ weight - Y))
        gradient = tape.gradient(loss, weight)
        squares.assign_add(gradient * gradient)
        weight.assign_sub(0.1 * gradient / tf.sqrt(squares + 1e-8))

    run = tf.function(step) if compiled else step
    assert told(recorded(lambda: [run() for _ in range(8)])) == []
