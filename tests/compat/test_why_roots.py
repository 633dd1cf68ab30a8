"""The root is told first, with what follows from it: sizes of data and weights, dropout, layers that a step killed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, size=(64, 8, 8, 1)).astype(np.float32)
CLASSES = RNG.integers(0, 4, size=64)
X = RNG.normal(size=(64, 8)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def findings(trace: Trace) -> tuple[Finding, ...]:
    return tensorsleuth.diagnose(trace).findings


def classifier(bias: float = 0.0) -> Any:
    keras.utils.set_random_seed(1)
    first = {"activation": "relu", "bias_initializer": keras.initializers.Constant(bias)}
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Conv2D(8, 3, name="conv_a", **first),
            keras.layers.Conv2D(8, 3, activation="relu", name="conv_b"),
            keras.layers.Flatten(),
            keras.layers.Dense(4, name="head"),
        ]
    )


def fit(model: Any, pixels: Any, optimizer: Any) -> None:
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(pixels, CLASSES, batch_size=16, epochs=8, verbose=0, shuffle=False)


def test_the_step_that_killed_a_layer_is_the_root(recorded: Recorded) -> None:
    def program() -> None:
        rate = keras.optimizers.SGD(0.5)  # rate
        fit(classifier(), PIXELS, rate)

    (found,) = findings(recorded(program))
    assert (found.cause, found.line) == ("learning-rate-too-high", marked("rate"))
    assert "the loss jumped from" in found.summary and "(SGD, learning rate 0.5, inputs 0 … 255)" in found.summary
    assert "since step" in found.summary and "dead" in found.summary
    assert any("conv_" in effect and "zeros" in effect for effect in found.effects)
    assert found.fix is not None and found.fix.startswith("scale the inputs")


def test_a_layer_that_never_lived_was_killed_by_no_step(recorded: Recorded) -> None:
    found = findings(recorded(lambda: fit(classifier(-1e5), PIXELS / 255.0, keras.optimizers.SGD(0.01))))
    assert found[0].cause == "dead-layer" and not found[0].effects


def test_scaled_pixels_and_a_moderate_rate_are_healthy(recorded: Recorded) -> None:
    assert not findings(recorded(lambda: fit(classifier(), PIXELS / 255.0, keras.optimizers.SGD(0.05))))


@pytest.mark.parametrize("size", [1e25, 0.3])
def test_weights_that_begin_far_too_large(recorded: Recorded, size: float) -> None:
    def program() -> None:
        first = tf.Variable(size * RNG.normal(size=(8, 16)).astype(np.float32))  # first weights
        last, optimizer = tf.Variable(RNG.normal(size=(16, 1)).astype(np.float32)), keras.optimizers.Adam(1e-3)
        optimizer.build([first, last])

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.abs(tf.matmul(tf.nn.relu(tf.matmul(X, first)), last) - Y))
            optimizer.apply_gradients(zip(tape.gradient(loss, [first, last]), [first, last], strict=True))
            return loss

        for _ in range(12):
            step()

    found = findings(recorded(program))
    if size < 1.0:
        assert not found
        return
    assert [(one.cause, one.line) for one in found] == [("initial-weights", marked("first weights"))]
    assert "Square" in found[0].summary and found[0].confidence >= 0.9


@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "XLA"])
def test_weights_that_grew_did_not_begin_large(recorded: Recorded, compiled: bool) -> None:
    """In a function that XLA compiles, only the call that went bad has rows. Large data in a variable has no part."""

    def program() -> None:
        data = tf.Variable(1e7 * X)
        weight = tf.Variable(tf.ones([8, 1]))

        @tf.function(jit_compile=compiled)
        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.matmul(data / 1e7, weight) - Y) ** 2)
            weight.assign_sub(20.0 * tape.gradient(loss, weight))
            return loss

        for _ in range(40):
            step()

    assert "initial-weights" not in [one.cause for one in findings(recorded(program))]


def rate_of(pixels: Any) -> Any:
    weight = tf.Variable(tf.fill([64, 1], 0.01))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.exp(tf.matmul(x, weight)))  # exp
        weight.assign_sub(1e-3 * tape.gradient(loss, weight))
        return loss

    for _ in range(3):
        step(tf.constant(pixels.reshape(64, 64)))


def test_large_data_is_told_before_the_bound_of_an_exp(recorded: Recorded) -> None:
    found = findings(recorded(lambda: rate_of(PIXELS)))[0]
    assert (found.cause, found.line) == ("exp-overflow", marked("exp"))
    assert found.fix is not None and found.fix.startswith("scale what goes in")
    assert "0 … 255" in found.fix and "x / 255" in found.fix and "tf.minimum" in found.fix


def test_scaled_data_is_not_to_blame_for_an_exp(recorded: Recorded) -> None:
    weight = tf.Variable(tf.fill([64, 1], 9.0))
    x = PIXELS.reshape(64, 64) / 255.0
    found = findings(recorded(lambda: tf.exp(tf.matmul(tf.constant(x), weight)).numpy()))[0]
    assert found.cause == "exp-overflow" and found.fix is not None and found.fix.startswith("bound what goes in")


@pytest.mark.parametrize(("rate", "cause"), [(0.999, "dropout-rate"), (0.5, "learning-rate")])
def test_a_dropout_that_keeps_next_to_nothing_is_no_learning_rate(recorded: Recorded, rate: float, cause: str) -> None:
    def program() -> None:
        tf.random.set_seed(1)
        sizes = ((8, 64), (64, 64), (64, 1))
        weights = [tf.Variable(0.3 * np.random.default_rng(2).normal(size=size).astype(np.float32)) for size in sizes]

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                h = tf.nn.dropout(tf.nn.relu(tf.matmul(x, weights[0])), rate)
                loss = tf.reduce_mean((tf.matmul(tf.matmul(h, weights[1]), weights[2]) - Y) ** 2)
            for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
                weight.assign_sub(0.5 * slope)
            return loss

        for _ in range(20):
            step(tf.constant(X)).numpy()

    found = findings(recorded(program))[0]
    assert found.cause == cause
    assert cause != "dropout-rate" or ("rate 0.999" in found.summary and "1,000" in found.summary)


def test_gradients_that_nobody_applies_are_not_called_zero(recorded: Recorded) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - Y) ** 2)
        tape.gradient(loss, model.trainable_variables)
        return loss

    trace = recorded(lambda: [step(tf.constant(X)) for _ in range(40)])
    assert "zero-gradients" not in [one.cause for one in findings(trace)]
