"""Trains a causal self-attention layer to copy the previous token."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(301)
rng = np.random.default_rng(301)
LENGTH, DIM, VOCAB = 8, 16, 12

embed = tf.keras.layers.Embedding(VOCAB, DIM)
position = tf.Variable(tf.random.normal([LENGTH, DIM], stddev=0.3))
query, key, value = (tf.keras.layers.Dense(DIM) for _ in range(3))
readout = tf.keras.layers.Dense(VOCAB)
optimizer = tf.keras.optimizers.Adam(0.01)


def causal_mask(length):
    future = 1.0 - tf.linalg.band_part(tf.ones([length, length]), -1, 0)
    return tf.where(future > 0, float("-inf"), 0.0)


def attend(x):
    scores = tf.matmul(query(x), key(x), transpose_b=True) / DIM**0.5
    weights = tf.nn.softmax(scores + causal_mask(LENGTH))
    return tf.matmul(weights, value(x))


def model(tokens):
    x = embed(tokens) + position
    return readout(x + attend(x))


def trainable():
    layers = [embed, query, key, value, readout]
    return [position] + [v for layer in layers for v in layer.trainable_variables]


def batch():
    tokens = rng.integers(0, VOCAB, size=(16, LENGTH))
    return tokens.astype("int32"), np.roll(tokens, 1, axis=1).astype("int32")


model(batch()[0])
optimizer.build(trainable())


@tf.function
def train_step(tokens, target):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=model(tokens))
        loss = tf.reduce_mean(losses[:, 1:])
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step in range(30):
    loss = train_step(*batch())
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.numpy():.4f}")
