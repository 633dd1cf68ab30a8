"""Averages word vectors into unit sentence vectors and trains a classifier on them."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(137)
rng = np.random.default_rng(137)
VOCAB, DIM, LENGTH = 50, 8, 6


def make_sentences(n=96):
    ids = rng.integers(1, VOCAB, size=(n, LENGTH))
    labels = (ids.mean(axis=1) > VOCAB / 2).astype("float32")
    ids[58] = 0  # only unknown words
    return ids.astype("int32"), labels


class SentenceVector(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        vectors = rng.normal(size=(VOCAB, DIM)).astype("float32")
        vectors[0] = 0.0
        self.table = tf.constant(vectors)

    def call(self, ids):
        words = tf.gather(self.table, ids)
        return self.to_unit_length(tf.reduce_mean(words, axis=1))

    def to_unit_length(self, v):
        return v / tf.norm(v, axis=-1, keepdims=True)  # BUG: normalise-zero


model = keras.Sequential(
    [
        keras.layers.Input((LENGTH,), dtype="int32"),
        SentenceVector(),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
ids, labels = make_sentences()
model.fit(ids, labels, batch_size=16, epochs=2, shuffle=False, verbose=2)
print("evaluation:", model.evaluate(ids, labels, verbose=0))
