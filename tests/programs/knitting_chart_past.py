"""Continues chains of stitches, with attention that sees the past alone."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(952)
rng = np.random.default_rng(952)
STITCHES, LENGTH, WIDTH = 24, 16, 32
words, places = keras.layers.Embedding(STITCHES, WIDTH), keras.layers.Embedding(LENGTH, WIDTH)
query, key, value, head = (keras.layers.Dense(size) for size in (WIDTH, WIDTH, WIDTH, STITCHES))
optimizer = keras.optimizers.Adam(3e-3)


def attend(x):
    scores = tf.matmul(query(x), key(x), transpose_b=True) / WIDTH**0.5
    past = tf.linalg.band_part(tf.ones((LENGTH, LENGTH)), -1, 0)
    scores = scores - 1e9 * (1 - past)
    return tf.matmul(tf.nn.softmax(scores), value(x))


@tf.function
def train_step(ids, following):
    with tf.GradientTape() as tape:
        x = words(ids) + places(tf.range(LENGTH))
        logits = head(x + attend(x))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(following, logits))
    weights = [one for layer in (words, places, query, key, value, head) for one in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for step in range(60):
    chains = np.cumsum(rng.integers(1, 4, (32, LENGTH + 1)), axis=1) % STITCHES
    loss = train_step(tf.constant(chains[:, :-1], tf.int32), tf.constant(chains[:, 1:], tf.int32))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
