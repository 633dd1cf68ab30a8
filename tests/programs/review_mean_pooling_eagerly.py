"""Classifies reviews by the mean of their word vectors; runs eagerly, for debugging."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(414)
rng = np.random.default_rng(414)
WORDS, LENGTH = 50, 12


class MeanOfWords(keras.layers.Layer):
    """Mean over the words that are not padding (0)."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.table = keras.layers.Embedding(WORDS, width, name="table")

    def call(self, words):
        there = tf.cast(words > 0, tf.float32)[:, :, None]
        total = tf.reduce_sum(self.table(words) * there, axis=1)
        return total / tf.reduce_sum(there, axis=1)  # BUG: empty-mean


def make_reviews(n=64):
    words = rng.integers(1, WORDS, size=(n, LENGTH))
    words[:, 8:] = 0
    words[45] = 0  # a review of emojis only
    return words, (words[:, 0] > WORDS // 2).astype("float32")


model = keras.Sequential(
    [
        MeanOfWords(8, name="pooling"),
        keras.layers.Dense(8, activation="relu", name="hidden"),
        keras.layers.Dense(1, activation="sigmoid", name="liked"),
    ],
    name="reviews",
)
model.compile(optimizer="adam", loss="binary_crossentropy", run_eagerly=True)
words, liked = make_reviews()
history = model.fit(words, liked, batch_size=8, epochs=2, shuffle=False, verbose=0)
print("loss", history.history["loss"])
