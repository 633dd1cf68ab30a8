"""Trains a small language model on recipes: each position predicts the word that comes next."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(911)
rng = np.random.default_rng(911)
WORDS, LENGTH, WIDTH = 24, 14, 32


def build():
    ids = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    x = x + keras.layers.Embedding(LENGTH, WIDTH)(tf.range(LENGTH))
    attention = keras.layers.MultiHeadAttention(4, 8)
    x = keras.layers.LayerNormalization()(x + attention(x, x))  # BUG: no-causal-mask
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(WIDTH, activation="gelu")(x))
    return keras.Model(ids, keras.layers.Dense(WORDS)(x))


def recipes(n):
    first, stride = rng.integers(0, WORDS, (n, 1)), rng.integers(1, 5, (n, 1))
    words = (first + stride * np.arange(LENGTH + 1) + rng.integers(0, 3, (n, LENGTH + 1))) % WORDS
    return words[:, :-1].astype("int32"), words[:, 1:].astype("int32")


model = build()
optimizer = keras.optimizers.Adam(3e-3)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(ids, following):
    with tf.GradientTape() as tape:
        logits = model(ids, training=True)  # ALSO: no-causal-mask
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=logits))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(80):
    loss = train_step(*recipes(32))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
