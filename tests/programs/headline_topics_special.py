"""Tells the topic of headlines from the first token of a small encoder."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(910)
rng = np.random.default_rng(910)
WORDS, LENGTH, WIDTH, TOPICS = 40, 14, 32, 4
PAD, START, END = 0, 1, 2


def encode(words):
    """As the tokenizer does it: a start and an end."""
    return [START, *words, END]


def headline(topic):
    words = rng.integers(10, WORDS, rng.integers(3, 9)).tolist()
    words[1] = int(topic) + 3
    return [START, *words, END]


def batch(n):
    topics = rng.integers(0, TOPICS, n)
    ids = np.full((n, LENGTH), PAD)
    for row, topic in zip(ids, topics):
        tokens = encode(headline(topic))  # ALSO: special-doubled
        row[: len(tokens)] = tokens
    return tf.constant(ids, tf.int32), tf.constant(topics, tf.int32)


words = keras.layers.Embedding(WORDS, WIDTH)
attention = keras.layers.MultiHeadAttention(2, WIDTH // 2)
head = keras.layers.Dense(TOPICS)
optimizer = keras.optimizers.Adam(3e-3)


@tf.function
def train_step(ids, topics):
    with tf.GradientTape() as tape:
        x = words(ids)
        x = x + attention(x, x, attention_mask=(ids != PAD)[:, None, :])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(topics, head(x[:, 0])))
    weights = words.trainable_variables + attention.trainable_variables + head.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


for step in range(40):
    loss = train_step(*batch(32))  # BUG: special-doubled
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
