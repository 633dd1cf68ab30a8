"""Lines of optimizers and layers that were made before the recording began."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def weights() -> Any:
    return tf.Variable(np.linspace(-1.0, 1.0, 4, dtype=np.float32)[:, None])


def gradient(weight: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.matmul(X, weight) - Y) ** 2)
    return tape.gradient(loss, weight)


def test_an_optimizer_of_an_eager_loop(recorded: Recorded) -> None:
    steep, weight = keras.optimizers.SGD(50.0), weights()
    rate = keras.optimizers.SGD(
        learning_rate=50.0,  # made before
    )

    def program() -> None:
        for _ in range(20):
            rate.apply_gradients([(gradient(weight), weight)])  # used

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("made before")), found.summary
    assert found.shown_at is not None and found.shown_at.line == marked("used") and steep is not rate


def test_an_optimizer_that_may_be_either_is_told_where_it_is_used(recorded: Recorded) -> None:
    choice = keras.optimizers.SGD(50.0)
    if len(X) > 10:
        choice = keras.optimizers.SGD(60.0)
    weight = weights()

    def program() -> None:
        for _ in range(20):
            choice.apply_gradients([(gradient(weight), weight)])  # the use of either

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("the use of either")), found.summary


def huge_model(layer: Any) -> Any:
    model = keras.Sequential([layer, keras.layers.Activation("linear")])
    model.compile("sgd", "mse")
    model.build((None, 4))
    layer.kernel.assign(np.full([4, 4], 3e38, np.float32))
    return model


def fit(model: Any) -> None:
    model.fit(np.ones([8, 4], np.float32), np.ones([8, 4], np.float32), verbose=0)  # fit


def test_a_layer_with_a_name_of_its_own(recorded: Recorded) -> None:
    model = huge_model(keras.layers.Dense(4, name="widest"))  # widest
    found = first(recorded(lambda: fit(model)))
    assert found.layer is not None and found.layer.endswith("widest"), found
    assert found.line == marked("widest"), found.summary
    assert found.shown_at is not None and found.shown_at.line == marked("fit")


def test_a_name_that_no_call_spells_leads_nowhere(recorded: Recorded) -> None:
    model = huge_model(keras.layers.Dense(4, name="_".join(["one", "of", "many"])))
    found = first(recorded(lambda: fit(model)))
    assert found.line == marked("fit"), found.summary
