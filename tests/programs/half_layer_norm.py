"""Applies a hand-written layer norm in float16 before a classifier."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(109)
rng = np.random.default_rng(109)
EPSILON = 1e-8  # ALSO: epsilon-vanishes


class LayerNorm(keras.layers.Layer):
    def build(self, input_shape):
        self.gamma = self.add_weight(name="gamma", shape=(input_shape[-1],), initializer="ones")
        self.beta = self.add_weight(name="beta", shape=(input_shape[-1],), initializer="zeros")

    def call(self, x):
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        centred = x - mean
        variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
        normed = centred / tf.sqrt(variance + EPSILON)  # BUG: epsilon-vanishes
        return self.gamma * normed + self.beta


def make_rows(n=80):
    x = rng.normal(size=(n, 16)).astype("float32")
    y = (x[:, 0] > x[:, 1]).astype("int32")
    x[49] = 1.0  # a constant row
    return x, y


class Classifier(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm = LayerNorm(dtype="mixed_float16")
        self.head = keras.layers.Dense(2, dtype="float32")

    def call(self, x):
        return self.head(self.norm(x))


x, y = make_rows()
model = Classifier()
model.compile(optimizer=keras.optimizers.Adam(0.01), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
for epoch in range(2):
    history = model.fit(x, y, batch_size=16, shuffle=False, verbose=0)
    print(f"epoch {epoch} loss {history.history['loss'][0]:.4f}")
