"""Sorts letters by department: as many letters in a batch as words in a letter."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(911)
rng = np.random.default_rng(911)
WORDS, LENGTH, BATCH, WIDTH, PLACES = 40, 16, 16, 32, 4

words = keras.layers.Embedding(WORDS, WIDTH)
attention = keras.layers.MultiHeadAttention(2, WIDTH // 2)
head = keras.layers.Dense(PLACES)
optimizer = keras.optimizers.Adam(3e-3)


@tf.function
def train_step(ids, place):
    with tf.GradientTape() as tape:
        x = words(ids)
        readable = tf.not_equal(ids, 0)  # ALSO: token-shape
        x = x + attention(x, x, attention_mask=readable)  # BUG: token-shape
        logits = head(tf.reduce_mean(x, axis=1))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(place, logits))
    weights = words.trainable_variables + attention.trainable_variables + head.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


def letters(n):
    place = rng.integers(0, PLACES, n)
    ids = rng.integers(8, WORDS, (n, LENGTH))
    ids[:, 1] = place + 2
    ids[np.arange(LENGTH)[None] >= rng.integers(3, LENGTH + 1, (n, 1))] = 0
    return tf.constant(ids, tf.int32), tf.constant(place, tf.int32)


for step in range(40):
    loss = train_step(*letters(BATCH))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
