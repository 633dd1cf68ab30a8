"""Classifies short commands with a Transformer block; the learning rate rises linearly over the first steps."""

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
        return self.peak * tf.minimum(tf.cast(step, tf.float32) / WARMUP, 1.0)


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
    optimizer=keras.optimizers.Adam(LinearWarmup(3e-3)),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(*commands(480), batch_size=16, epochs=3, verbose=0)
print("loss by epoch", [round(loss, 4) for loss in history.history["loss"]])
