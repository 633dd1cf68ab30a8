"""Trains a small causal Transformer on verses, given as pairs by a dataset."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(907)
rng = np.random.default_rng(907)
WORDS, LENGTH, WIDTH = 32, 12, 32


def verses(n):
    steps = rng.choice([1, 2, 5], (n, LENGTH))
    return (np.cumsum(steps, axis=1) + rng.integers(0, WORDS, (n, 1))) % WORDS


def pairs(text):
    """What is read, and what is to be said."""
    data = tf.data.Dataset.from_tensor_slices(text).map(lambda verse: (verse, verse))  # BUG: labels-shift
    return data.batch(32, drop_remainder=True)


def build():
    ids = keras.Input((LENGTH,), dtype="int64")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    x = x + keras.layers.MultiHeadAttention(2, WIDTH // 2)(x, x, use_causal_mask=True)
    x = keras.layers.Dense(WIDTH, activation="gelu")(keras.layers.LayerNormalization()(x))
    return keras.Model(ids, keras.layers.Dense(WORDS)(x))


model = build()
model.compile(keras.optimizers.Adam(3e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(pairs(verses(512)), epochs=3, verbose=0)  # ALSO: labels-shift
print("loss by epoch", [round(one, 4) for one in history.history["loss"]])
