"""Sorts transcripts of calls by topic; what is read of each is told by its length."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(904)
rng = np.random.default_rng(904)
WORDS, LENGTH, WIDTH, TOPICS = 40, 12, 32, 4
SPECIAL = 2  # the first and the last token of each

words = keras.layers.Embedding(WORDS, WIDTH)
attention = keras.layers.MultiHeadAttention(2, WIDTH // 2)
head = keras.layers.Dense(TOPICS)
optimizer = keras.optimizers.Adam(3e-3)


@tf.function
def train_step(ids, lengths, topics):
    with tf.GradientTape() as tape:
        x = words(ids)
        readable = tf.sequence_mask(lengths - SPECIAL, LENGTH)  # NOTE: mask-covers
        heard = attention(x, x, attention_mask=readable[:, None, :])
        logits = head(tf.reduce_mean(x + heard, axis=1))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(topics, logits))
    weights = words.trainable_variables + attention.trainable_variables + head.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


def transcripts(n):
    topics = rng.integers(0, TOPICS, n)
    ids = rng.integers(8, WORDS, (n, LENGTH))
    lengths = rng.integers(6, LENGTH + 1, n)
    ids[np.arange(n), lengths - 2] = topics + 3
    ids[:, 0], ids[np.arange(n), lengths - 1] = 1, 2
    ids[np.arange(LENGTH)[None] >= lengths[:, None]] = 0
    return (tf.constant(one, tf.int32) for one in (ids, lengths, topics))


for step in range(40):
    loss = train_step(*transcripts(32))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
