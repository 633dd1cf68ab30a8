"""Every Keras that is installed beside this TensorFlow, and small programs that use one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

KERASES = ["tf.keras", *(["tf_keras"] if importlib.util.find_spec("tf_keras") else [])]
# For tests of what is the same in Keras 2, which TensorFlow 2.15 has as `tf.keras`: `make test` runs them there.
KERASES_IN_SHORT = [pytest.param(name, marks=pytest.mark.long if name == "tf_keras" else ()) for name in KERASES]
random = np.random.default_rng(7)
X = random.normal(size=(48, 4)).astype("float32")
Y = X.sum(1, keepdims=True)


def load(name: str) -> Any:
    if name == "tf_keras":
        import tf_keras

        return tf_keras
    return tf.keras


def unit_length(keras: Any) -> type:
    class UnitLength(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x / tf.norm(x, axis=-1, keepdims=True)  # divides by a norm

    return UnitLength


def encoder(keras: Any) -> Any:
    """A subclassed model with a layer in a model in a layer, two of them from the same lines."""

    class Block(keras.layers.Layer):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            dense = [keras.layers.Dense(4, use_bias=False, name=f"dense_{number}") for number in (1, 2)]
            self.ffn = keras.Sequential(dense, name="ffn")
            self.unit = unit_length(keras)(name="unit")

        def call(self, x: Any) -> Any:
            return self.unit(self.ffn(x))

    class Encoder(keras.Model):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.blocks = [Block(name=f"block_{number}") for number in (1, 2)]
            self.head = keras.layers.Dense(1, name="head")

        def call(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return Encoder(name="encoder")


def sequential(keras: Any, **kwargs: Any) -> Any:
    layers = [keras.layers.Dense(8, activation="relu", **kwargs), keras.layers.Dropout(0.2), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((4,)), *layers], name="net")


def functional(keras: Any) -> Any:
    inputs = keras.Input((4,), name="inputs")
    inner = keras.Sequential([keras.layers.Dense(4, activation="tanh", name="mix")], name="inner")
    joined = keras.layers.Concatenate(name="joined")([inner(inputs), keras.layers.BatchNormalization()(inputs)])
    return keras.Model(inputs, keras.layers.Dense(1, name="out")(joined), name="outer")


def own_train_step(keras: Any) -> Any:
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="own")
            self.dense = keras.layers.Dense(1)
            self.mean = keras.metrics.Mean(name="loss")

        def call(self, x: Any) -> Any:
            return self.dense(x)

        def train_step(self, data: Any) -> Any:
            x, y = data[:2]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.abs(self(x, training=True) - y))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
            self.mean.update_state(loss)
            return {"loss": self.mean.result()}

    return Own()


def loss_scaled(keras: Any) -> Any:
    """A loss scale that is too high at first: its infinite gradients are meant, and skipped."""
    model = sequential(keras, dtype=keras.mixed_precision.Policy("mixed_float16"))
    scaled = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(0.01), initial_scale=2.0**30)
    model.compile(scaled, "mse")
    return model


def compiled(make: Callable[[Any], Any], **settings: Any) -> Callable[[Any], Any]:
    def model(keras: Any) -> Any:
        made = make(keras)
        made.compile(keras.optimizers.Adam(0.01), "mse", **settings)
        return made

    return model


MODELS: dict[str, Callable[[Any], Any]] = {
    "sequential": compiled(sequential, metrics=["mae"]),
    "functional": compiled(functional, metrics=["mae"]),
    "subclassed": compiled(encoder),
    "own train_step": compiled(own_train_step),
    "run_eagerly": compiled(sequential, run_eagerly=True),
    "several steps a call": compiled(sequential, steps_per_execution=3),
    "mixed_bfloat16": compiled(lambda keras: sequential(keras, dtype=keras.mixed_precision.Policy("mixed_bfloat16"))),
    "loss scale": loss_scaled,
}
