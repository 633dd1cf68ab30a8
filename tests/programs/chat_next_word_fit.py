"""Learns the next word of short chats: a causal block in Keras, trained by fit."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(905)
rng = np.random.default_rng(905)
WORDS, LENGTH, WIDTH = 30, 15, 32


class Block(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.places = keras.layers.Embedding(LENGTH, WIDTH)
        self.attention = keras.layers.MultiHeadAttention(2, WIDTH // 2)
        self.norm = keras.layers.LayerNormalization()
        self.out = keras.layers.Dense(WORDS)

    def call(self, ids):
        x = self.words(ids) + self.places(tf.range(LENGTH))
        return self.out(self.norm(x + self.attention(x, x, use_causal_mask=True)))


def chats(n):
    """Words that count up from a random one; most chats are short."""
    start, stride = rng.integers(0, WORDS, (n, 1)), rng.integers(1, 4, (n, 1))
    chats = (start + stride * np.arange(LENGTH + 1)) % (WORDS - 1) + 1
    chats[np.arange(LENGTH + 1)[None] >= rng.integers(4, LENGTH + 2, (n, 1))] = 0
    return chats.astype("int32")


model = Block()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(3e-3), loss)  # ALSO: loss-padding
text = chats(512)
history = model.fit(text[:, :-1], text[:, 1:], batch_size=32, epochs=3, verbose=0)  # BUG: loss-padding
print("loss by epoch", [round(one, 4) for one in history.history["loss"]])
