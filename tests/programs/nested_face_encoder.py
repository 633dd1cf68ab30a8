"""Embeds face descriptors with a nested Keras model and regresses an age from the embedding."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(411)
rng = np.random.default_rng(411)
FEATURES = 12


class UnitLength(keras.layers.Layer):
    def call(self, x):
        return x / tf.norm(x, axis=-1, keepdims=True)  # BUG: normalise-zero


class Block(keras.layers.Layer):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.ffn = keras.Sequential(
            [
                keras.layers.Dense(width, activation="relu", use_bias=False, name="dense_1"),
                keras.layers.Dense(width, use_bias=False, name="dense_2"),
            ],
            name="ffn",
        )
        self.unit = UnitLength(name="unit")

    def call(self, x):
        return self.unit(self.ffn(x))


class Encoder(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = Block(16, name="block_1")
        self.second = Block(16, name="block_2")
        self.age = keras.layers.Dense(1, name="age")

    def call(self, x):
        return self.age(self.second(self.first(x)))


x = rng.normal(size=(96, FEATURES)).astype("float32")
age = 30 + 5 * x[:, :1] + rng.normal(size=(96, 1)).astype("float32")
x[57] = 0.0  # no face was found

model = Encoder(name="encoder")
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(x, age, batch_size=16, epochs=3, shuffle=False, verbose=0)
print("loss by epoch", history.history["loss"])
