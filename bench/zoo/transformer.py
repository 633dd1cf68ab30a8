"""A small causal Transformer, trained with `fit` on sentences of a made-up grammar."""

import argparse

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

VOCABULARY, LENGTH, WIDTH, HEADS, BATCH, STEPS_PER_EPOCH = 50, 32, 64, 4, 16, 50


def sentences(count, rng):
    """Tokens of which each has four likely successors."""
    successors = rng.integers(VOCABULARY, size=(VOCABULARY, 4))
    tokens = np.empty((count, LENGTH + 1), np.int32)
    tokens[:, 0] = rng.integers(VOCABULARY, size=count)
    for t in range(LENGTH):
        chosen = rng.choice(4, size=count, p=[0.7, 0.15, 0.1, 0.05])
        tokens[:, t + 1] = successors[tokens[:, t], chosen]
    return tokens[:, :-1], tokens[:, 1:]


class Embed(layers.Layer):
    """The sum of the embeddings of a token and of its position."""

    def __init__(self):
        super().__init__()
        self.tokens = layers.Embedding(VOCABULARY, WIDTH)
        self.positions = layers.Embedding(LENGTH, WIDTH)

    def call(self, x):
        return self.tokens(x) + self.positions(np.arange(LENGTH))


def block(x):
    y = layers.LayerNormalization()(x)
    y = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y, use_causal_mask=True)
    x = layers.Add()([x, layers.Dropout(0.1)(y)])
    y = layers.LayerNormalization()(x)
    y = layers.Dense(4 * WIDTH, activation="gelu")(y)
    y = layers.Dense(WIDTH)(y)
    return layers.Add()([x, layers.Dropout(0.1)(y)])


def build():
    inputs = keras.Input((LENGTH,), dtype="int32")
    x = Embed()(inputs)
    for _ in range(2):
        x = block(x)
    x = layers.LayerNormalization()(x)
    return keras.Model(inputs, layers.Dense(VOCABULARY)(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400, help="training steps, in whole epochs of 50")
    steps = parser.parse_args().steps

    keras.utils.set_random_seed(6)
    x, y = sentences(BATCH * STEPS_PER_EPOCH, np.random.default_rng(6))
    model = build()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(2e-3), loss, metrics=["accuracy"])
    model.fit(x, y, batch_size=BATCH, epochs=steps // STEPS_PER_EPOCH, verbose=2)


if __name__ == "__main__":
    main()
