"""The line of an operation of `keras.ops` in a functional model, where the model's own line ran it: Keras 3 only."""

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

pytestmark = pytest.mark.skipif(not keras.__version__.startswith("3"), reason="Keras 2 has no operations")

Recorded = Callable[..., Trace]
X = np.array([[1, 2, 0], [3, 0, 0]] * 8, np.float32)
Y = np.ones([16, 1], np.float32)
INFINITE = float("-inf")


def fitted(recorded: Recorded, build: Callable[[], Any]) -> Finding:
    def program() -> None:
        model = build()
        model.compile("sgd", "mse")
        model.fit(X, Y, batch_size=8, epochs=1, verbose=0)  # fit

    return tensorsleuth.diagnose(recorded(program)).findings[0]


def with_mask() -> Any:
    inputs = keras.Input((3,))
    mask = keras.ops.cast(keras.ops.not_equal(inputs, 0), "float32")
    x = inputs + (1.0 - mask) * INFINITE  # masked
    x = keras.ops.expand_dims(keras.ops.max(x, axis=1), -1)
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def with_log() -> Any:
    inputs = keras.Input((3,))
    x = keras.ops.log(inputs)  # log
    return keras.Model(inputs, keras.layers.Dense(1)(x))


def with_division() -> Any:
    inputs = keras.Input((3,))
    x = inputs / keras.ops.maximum(inputs - 1.0, 0.0)  # quotient
    return keras.Model(inputs, keras.layers.Dense(1)(x))


CASES = {"mask": (with_mask, "masked"), "log": (with_log, "log"), "quotient": (with_division, "quotient")}


@pytest.mark.parametrize("name", CASES)
def test_the_line_that_called_the_operation(recorded: Recorded, name: str) -> None:
    build, _ = CASES[name]
    lines = {"mask": marked("masked"), "log": marked("log"), "quotient": marked("quotient")}
    found = fitted(recorded, build)
    assert found.line == lines[name], found.summary
    assert found.shown_at is not None and found.shown_at.line == marked("fit")


def test_a_loop_that_calls_the_model(recorded: Recorded) -> None:
    model = None

    def program() -> None:
        nonlocal model
        model = with_log()
        step = tf.function(lambda x: tf.reduce_sum(model(x)))  # step
        float(step(tf.constant(X)))

    found = tensorsleuth.diagnose(recorded(program)).findings[0]
    assert (found.cause, found.line) == ("log-zero", marked("log")), found.summary


def test_several_lines_with_the_same_operation(recorded: Recorded) -> None:
    """It is not known which of them: the model's line stays."""

    def build() -> Any:
        inputs = keras.Input((3,))
        x = keras.ops.log(inputs + 1.0)
        x = keras.ops.log(x)
        return keras.Model(inputs, keras.layers.Dense(1)(x))  # model

    assert fitted(recorded, build).line == marked("model")


def test_an_operation_of_several_ops(recorded: Recorded) -> None:
    """The ops of `normalize` are not known, so the logarithm may be one of them."""

    def build() -> Any:
        inputs = keras.Input((3,))
        x = keras.ops.log(inputs)
        x = keras.ops.normalize(x)
        return keras.Model(inputs, keras.layers.Dense(1)(x))  # the model

    assert fitted(recorded, build).line == marked("the model")


def test_a_layer_keeps_its_line(recorded: Recorded) -> None:
    def build() -> Any:
        inputs = keras.Input((3,))
        x = keras.layers.Activation(tf.math.log)(inputs)  # activation
        x = keras.ops.multiply(x, 2.0)
        return keras.Model(inputs, keras.layers.Dense(1)(x))

    assert fitted(recorded, build).line == marked("activation")
