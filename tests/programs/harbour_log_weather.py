"""Tells the weather from a harbour log: attention of several heads, written by hand."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(980)
rng = np.random.default_rng(980)
WORDS, LENGTH, BATCH, HEADS, WIDTH, KINDS = 50, 12, 8, 8, 32, 3


class SelfAttention(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(3 * WIDTH)
        self.outer = keras.layers.Dense(WIDTH)

    def call(self, x, readable):
        parts = tf.reshape(self.inner(x), (-1, LENGTH, 3, HEADS, WIDTH // HEADS))
        query, key, value = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))
        scores = tf.matmul(query, key, transpose_b=True) / (WIDTH / HEADS) ** 0.5
        scores = tf.where(readable, scores, -1e9)
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), (0, 2, 1, 3))
        return self.outer(tf.reshape(mixed, (-1, LENGTH, WIDTH)))


class Encoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.attention = SelfAttention()
        self.norm = keras.layers.LayerNormalization()
        self.head = keras.layers.Dense(KINDS)

    def call(self, ids):
        x = self.words(ids)
        readable = tf.not_equal(ids, 0)[:, tf.newaxis, tf.newaxis, :]
        x = self.norm(x + self.attention(x, readable))
        return self.head(x[:, 0])


def logs(n):
    kind = rng.integers(0, KINDS, n)
    ids = rng.integers(10, WORDS, (n, LENGTH))
    ids[:, 2] = kind + 3
    ids[np.arange(LENGTH)[None] >= rng.integers(4, LENGTH + 1, (n, 1))] = 0
    return ids.astype("int32"), kind.astype("int32")


model = Encoder()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
history = model.fit(*logs(320), batch_size=BATCH, epochs=2, verbose=0)
print("accuracy by epoch", [round(one, 3) for one in history.history["accuracy"]])
