"""Guesses the language of a line of lyrics from its letters, with a small Transformer and short steps."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(929)
rng = np.random.default_rng(929)
LETTERS, LENGTH, WIDTH, LANGUAGES = 30, 16, 32, 4
layers = keras.layers


def lines(n):
    language = rng.integers(0, LANGUAGES, n)
    habits = np.random.default_rng(6).dirichlet(np.full(LETTERS, 0.3), LANGUAGES)
    return np.stack([rng.choice(LETTERS, LENGTH, p=habits[one]) for one in language]).astype("int32"), language


def block(x):
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(num_heads=4, key_dim=8)(y, y)
    y = layers.LayerNormalization()(x)
    return x + layers.Dense(WIDTH)(layers.Dense(64, activation="gelu")(y))


letters = layers.Input((LENGTH,), dtype="int32")
x = layers.Embedding(LETTERS, WIDTH)(letters)
for _ in range(2):
    x = block(x)
model = keras.Model(letters, layers.Dense(LANGUAGES)(layers.GlobalAveragePooling1D()(x)))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(2e-3), loss)
history = model.fit(*lines(1024), batch_size=32, epochs=3, verbose=0)
print("loss by epoch", [round(loss, 4) for loss in history.history["loss"]])
