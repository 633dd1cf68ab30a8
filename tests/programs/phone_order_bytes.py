"""Tells what a phone order is about: an encoder of one block; the mask comes from the tokenizer, a byte each."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(977)
rng = np.random.default_rng(977)
WORDS, LENGTH, WIDTH, KINDS = 60, 14, 32, 4

words = keras.layers.Embedding(WORDS, WIDTH)
query, key, value = (keras.layers.Dense(WIDTH) for _ in range(3))
head = keras.layers.Dense(KINDS)
optimizer = keras.optimizers.Adam(3e-3)


def tokenized(n):
    kind = rng.integers(0, KINDS, n)
    ids = rng.integers(10, WORDS, (n, LENGTH))
    ids[:, 1] = kind + 2
    ids[np.arange(LENGTH)[None] >= rng.integers(4, LENGTH + 1, (n, 1))] = 0
    return ids.astype("int32"), (ids != 0).astype("uint8"), kind.astype("int32")


@tf.function
def train_step(ids, mask, kind):
    with tf.GradientTape() as tape:
        x = words(ids)
        scores = tf.matmul(query(x), key(x), transpose_b=True) / WIDTH**0.5
        hidden = tf.cast(mask - 1, tf.float32) * 1e9  # BUG: token-dtype
        x = x + tf.matmul(tf.nn.softmax(scores + hidden[:, None, :]), value(x))
        logits = head(x[:, 0])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(kind, logits))
    layers = (words, query, key, value, head)
    weights = [one for layer in layers for one in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for step in range(40):
    loss = train_step(*map(tf.constant, tokenized(32)))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
