"""Classifies short commands with a Transformer block; the learning rate rises over the first steps, by hand."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(812)
rng = np.random.default_rng(812)
WORDS, LENGTH, WIDTH, INTENTS, WARMUP = 30, 10, 32, 4, 100


class LinearWarmup(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak):
        self.peak = peak

    def __call__(self, step):
        return self.peak * tf.cast(tf.minimum(tf.cast(step, tf.int32) // WARMUP, 1), tf.float32)  # BUG: frozen-weights


def commands(n):
    intent = rng.integers(0, INTENTS, n)
    ids = rng.integers(0, WORDS, (n, LENGTH))
    ids[:, 2::4] = intent[:, None] * 2
    return ids.astype("int32"), intent.astype("int32")


def build():
    ids = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(4, 8)(x, x))
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(WIDTH, activation="relu")(x))
    return keras.Model(ids, keras.layers.Dense(INTENTS)(keras.layers.GlobalAveragePooling1D()(x)))


model = build()
model.compile(
    optimizer=keras.optimizers.Adam(LinearWarmup(3e-3)),  # ALSO: frozen-weights
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(*commands(480), batch_size=16, epochs=3, verbose=0)  # ALSO: frozen-weights
print("loss by epoch", [round(loss, 4) for loss in history.history["loss"]])
