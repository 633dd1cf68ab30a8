"""Finds the shelf of a book from its title, with a small encoder, where the title names something."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(964)
rng = np.random.default_rng(964)
WORDS, LENGTH, WIDTH, SHELVES = 60, 14, 32, 4
PAD, START, END, COMMON = 0, 1, 2, 20


def title(shelf):
    """Many are of words that say little."""
    words = rng.integers(3, COMMON, rng.integers(2, 8))
    names = rng.integers(COMMON + 10 * shelf, COMMON + 10 * shelf + 10, rng.integers(0, 5))
    return rng.permutation([*words, *names]).tolist()


def encode(words):
    """Common words are left out."""
    told = [word for word in words if word >= COMMON]
    return [START, *told, END]


def load(n):
    shelves = rng.integers(0, SHELVES, n)
    rows = [encode(title(shelf)) for shelf in shelves]
    named = np.array([len(row) > 2 for row in rows])
    rows, shelves = [row for row in rows if len(row) > 2], shelves[named]
    return keras.utils.pad_sequences(rows, maxlen=LENGTH, padding="post", value=PAD), shelves


ids = keras.layers.Input((LENGTH,), dtype="int32")
mask = keras.ops.expand_dims(keras.ops.not_equal(ids, PAD), 1)
x = keras.layers.Embedding(WORDS, WIDTH)(ids)
y = keras.layers.MultiHeadAttention(num_heads=2, key_dim=WIDTH // 2)(x, x, attention_mask=mask)
x = keras.layers.LayerNormalization()(x + y)
model = keras.Model(ids, keras.layers.Dense(SHELVES)(x[:, 0]))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
history = model.fit(*load(1280), batch_size=32, epochs=2, verbose=0)
print("accuracy by epoch", [round(one, 3) for one in history.history["accuracy"]])
