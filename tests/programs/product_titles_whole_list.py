"""Sorts product titles into shelves with a compiled step; every word has a row."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(918)
rng = np.random.default_rng(918)
LISTED, LENGTH, WIDTH, SHELVES = 64, 8, 24, 4
LEARNED = LISTED

words = keras.layers.Embedding(LEARNED, WIDTH)
head = keras.layers.Dense(SHELVES)
words.build((None, LENGTH))
head.build((None, WIDTH))
weights = words.trainable_variables + head.trainable_variables


@tf.function(jit_compile=True)
def train_step(ids, shelves):
    with tf.GradientTape() as tape:
        logits = head(tf.reduce_mean(words(ids), axis=1))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(shelves, logits))
    for weight, grad in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.5 * tf.convert_to_tensor(grad))
    return loss


def titles(n):
    shelves = rng.integers(0, SHELVES, n)
    ids = rng.integers(SHELVES, LISTED, (n, LENGTH))
    ids[:, 0] = shelves
    return tf.constant(ids, tf.int32), tf.constant(shelves, tf.int32)


for step in range(40):
    loss = train_step(*titles(32))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
