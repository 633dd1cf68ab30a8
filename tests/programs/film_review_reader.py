"""Rates film reviews by stars: a small Keras Transformer that is given ids and a mask."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(901)
rng = np.random.default_rng(901)
WORDS, LENGTH, WIDTH, STARS = 40, 14, 32, 3


def reviews(n):
    """Each ends where its text does; the stars are told by three words."""
    stars = rng.integers(0, STARS, n)
    ids = rng.integers(10, WORDS, (n, LENGTH))
    ids[:, 1:4] = stars[:, None] + 2
    lengths = rng.integers(5, LENGTH + 1, (n, 1))
    ids[np.arange(LENGTH)[None] >= lengths] = 0
    return ids.astype("int32"), stars


def build():
    ids = keras.Input((LENGTH,), dtype="int32")
    mask = keras.Input((LENGTH,), dtype="bool")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    heard = keras.layers.MultiHeadAttention(2, WIDTH // 2)(x, x, attention_mask=mask[:, None, :])  # ALSO: mask-inverted
    x = keras.layers.LayerNormalization()(x + heard)
    return keras.Model([ids, mask], keras.layers.Dense(STARS)(x[:, 0]))


model = build()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
ids, stars = reviews(512)
history = model.fit([ids, ids == 0], stars, batch_size=32, epochs=2, verbose=0)  # BUG: mask-inverted
print("accuracy", round(history.history["accuracy"][-1], 3), "with TensorFlow", tf.__version__)
