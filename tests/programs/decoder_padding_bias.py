"""Runs one training step loop of a small self-attention decoder with padded inputs."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(71)
rng = np.random.default_rng(71)
LENGTH, DIM, VOCAB = 6, 8, 20
NEG_INF = float("-inf")


def padding_bias(tokens):
    keep = tf.cast(tf.not_equal(tokens, 0), tf.float32)
    return ((1.0 - keep) * NEG_INF)[:, None, :]  # BUG: zero-times-inf


class Attention(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.q = tf.keras.layers.Dense(DIM)
        self.k = tf.keras.layers.Dense(DIM)
        self.v = tf.keras.layers.Dense(DIM)

    def call(self, x, bias):
        scores = tf.matmul(self.q(x), self.k(x), transpose_b=True) / DIM**0.5
        return tf.matmul(tf.nn.softmax(scores + bias), self.v(x))


embedding = tf.keras.layers.Embedding(VOCAB, DIM)
attention = Attention()
output = tf.keras.layers.Dense(VOCAB)
optimizer = tf.keras.optimizers.Adam(1e-2)


def forward(tokens):
    x = embedding(tokens)
    return output(attention(x, padding_bias(tokens)))


def make_batch(size=8):
    tokens = rng.integers(1, VOCAB, size=(size, LENGTH))
    tokens[:, 4:] *= rng.integers(0, 2, size=(size, 1))
    return tf.constant(tokens, tf.int32)


for step in range(4):
    tokens = make_batch()
    with tf.GradientTape() as tape:
        logits = forward(tokens)
        loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(tokens, logits, from_logits=True))
    variables = embedding.trainable_variables + attention.trainable_variables + output.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    print(f"step {step} loss {float(loss):.4f}")
