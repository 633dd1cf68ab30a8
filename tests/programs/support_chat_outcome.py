"""Tells how a support chat ended, with a small encoder of its words."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(961)
rng = np.random.default_rng(961)
WORDS, LENGTH, WIDTH, OUTCOMES = 70, 16, 32, 3
PAD, START, END = 0, 1, 2


def chat(outcome):
    """Greeting, what went wrong, and at last how it ended."""
    story = rng.integers(20, WORDS, rng.integers(6, 34))
    return [START, *story, *rng.integers(3 + 5 * outcome, 8 + 5 * outcome, 3), END]


def load(n):
    outcomes = rng.integers(0, OUTCOMES, n)
    texts = [chat(outcome) for outcome in outcomes]
    ids = keras.utils.pad_sequences(texts, maxlen=LENGTH, padding="post", truncating="post", value=PAD)
    return ids, outcomes


ids = keras.layers.Input((LENGTH,), dtype="int32")
mask = keras.ops.expand_dims(keras.ops.not_equal(ids, PAD), 1)
x = keras.layers.Embedding(WORDS, WIDTH)(ids)
y = keras.layers.MultiHeadAttention(num_heads=2, key_dim=WIDTH // 2)(x, x, attention_mask=mask)
x = keras.layers.LayerNormalization()(x + y)
model = keras.Model(ids, keras.layers.Dense(OUTCOMES)(x[:, 0]))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
history = model.fit(*load(1280), batch_size=32, epochs=2, verbose=0)  # NOTE: truncated
print("accuracy by epoch", [round(one, 3) for one in history.history["accuracy"]])
