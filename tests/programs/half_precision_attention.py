"""Trains a transformer-like block in float16 compute with Keras fit."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(103)
rng = np.random.default_rng(103)
LENGTH, DIM = 10, 64


class DotAttention(keras.layers.Layer):
    def __init__(self):
        super().__init__(dtype="mixed_float16")
        self.query = keras.layers.Dense(DIM, dtype="mixed_float16", kernel_initializer="he_normal")
        self.key = keras.layers.Dense(DIM, dtype="mixed_float16", kernel_initializer="he_normal")

    def scores(self, x):
        return tf.matmul(self.query(x), self.key(x), transpose_b=True)  # BUG: half-overflow

    def call(self, x):
        scores = self.scores(x) * DIM**-0.5
        return tf.matmul(tf.nn.softmax(scores), x)


def make_sequences(n=64):
    y = rng.integers(0, 2, size=n)
    x = rng.normal(size=(n, LENGTH, DIM)) + y[:, None, None]
    x[40] *= 60.0  # a loud recording
    return x.astype("float32"), y.astype("float32")


model = keras.Sequential(
    [
        keras.layers.Input((LENGTH, DIM)),
        DotAttention(),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, dtype="float32"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.01), loss=keras.losses.BinaryCrossentropy(from_logits=True))


class PrintLoss(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print(f"batch {batch} loss {logs['loss']:.4f}")


x, y = make_sequences()
model.fit(x, y, batch_size=8, epochs=1, shuffle=False, verbose=0, callbacks=[PrintLoss()])
