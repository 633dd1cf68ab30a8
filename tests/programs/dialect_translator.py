"""Fits a Transformer block to word pairs, at the full rate from the first step on."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(941)
rng = np.random.default_rng(941)
WORDS, LENGTH, WIDTH, RATE = 30, 10, 32, 0.1


def build():
    ids = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    for _ in range(2):
        x = x + keras.layers.MultiHeadAttention(4, 8)(x, x)
        x = x + keras.layers.Dense(WIDTH, activation="gelu")(keras.layers.Dense(2 * WIDTH, activation="gelu")(x))
    return keras.Model(ids, keras.layers.Dense(WORDS)(x))


def sentences(n):
    ids = rng.integers(0, WORDS, (n, LENGTH))
    return tf.constant(ids, tf.int32), tf.constant((ids * 7 + 3) % WORDS, tf.int32)


model = build()
optimizer = keras.optimizers.Adam(RATE)  # NOTE: no-warmup
optimizer.build(model.trainable_variables)


@tf.function
def train_step(ids, wanted):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=model(ids, training=True))
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(40):
    loss = train_step(*sentences(32))
    if step % 20 < 1 or step < 5:
        print(f"step {step + 1} loss {float(loss):.4f}")
