"""Weights that no optimizer has: left out by mistake, or kept as they are on purpose, with each Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(11).normal(size=(64, 4)).astype("float32")


def model_of(keras: Any, lazily: bool) -> tuple[Any, Any]:
    """A model, and the layer in the middle of it; built at its first call, or at once."""
    first, middle, last = (keras.layers.Dense(size, "tanh", name=name) for size, name in ((8, "a"), (8, "b"), (1, "c")))

    class Lazy(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [first, middle, last]

        def call(self, x: Any) -> Any:
            for part in self.parts:
                x = part(x)
            return x

    return Lazy() if lazily else keras.Sequential([keras.layers.Input((4,)), first, middle, last]), middle


def causes(trace: Trace) -> list[str]:
    return [one.cause for one in tensorsleuth.diagnose(trace).findings]


@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize("name", KERASES)
def test_a_layer_that_is_said_not_to_train(recorded: Recorded, name: str, lazily: bool) -> None:
    model, middle = model_of(kerases.load(name), lazily)
    middle.trainable = False
    model.compile("sgd", "mse")
    assert causes(recorded(lambda: model.fit(X, X[:, :1], batch_size=4, epochs=1, verbose=0))) == []


@pytest.mark.parametrize("name", KERASES)
def test_a_layer_that_the_step_forgets(recorded: Recorded, name: str) -> None:
    keras = kerases.load(name)

    def train() -> None:
        model, middle = model_of(keras, False)
        optimizer = keras.optimizers.SGD(0.01)
        weights = [one for one in model.trainable_variables if all(one is not other for other in middle.weights)]

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - x[:, :1]))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        for _ in range(12):
            step(tf.constant(X))

    assert causes(recorded(train)) == ["not-in-optimizer"]
