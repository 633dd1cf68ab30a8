"""Classifies review-like sequences with an attention pooling layer written from scratch."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(37)
rng = np.random.default_rng(37)
LENGTH, DIM = 12, 8


def attention_weights(scores):
    e = tf.exp(scores)  # BUG: softmax-by-hand
    return e / tf.reduce_sum(e, axis=1, keepdims=True)  # ALSO: softmax-by-hand


class AttentionPooling(keras.layers.Layer):
    def build(self, input_shape):
        self.query = self.add_weight(name="query", shape=(DIM, 1), initializer="ones")

    def call(self, sequence):
        scores = tf.matmul(sequence, self.query)
        weights = attention_weights(scores)
        return tf.reduce_sum(weights * sequence, axis=1)


def make_reviews(n=96):
    labels = rng.integers(0, 2, size=n)
    x = rng.normal(size=(n, LENGTH, DIM)) + labels[:, None, None]
    x[70] *= 25.0  # ALL CAPS review with extreme features
    return x.astype("float32"), labels.astype("float32")


model = keras.Sequential(
    [
        keras.layers.Input((LENGTH, DIM)),
        AttentionPooling(),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
x, y = make_reviews()
model.fit(x[:64], y[:64], batch_size=16, epochs=1, verbose=2)
model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=2)
