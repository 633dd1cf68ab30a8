"""Trains a simple recurrent network from scratch to sum a long sequence."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(151)
rng = np.random.default_rng(151)
HIDDEN, LENGTH, BATCH = 32, 400, 8

Wx = tf.Variable(tf.random.normal([1, HIDDEN], stddev=0.3))
Wh = tf.Variable(tf.random.normal([HIDDEN, HIDDEN], stddev=0.5))  # ALSO: exploding-recurrence
bh = tf.Variable(tf.zeros([HIDDEN]))
Wo = tf.Variable(tf.random.normal([HIDDEN, 1], stddev=0.1))
PARAMS = [Wx, Wh, bh, Wo]


def cell(h, x):
    return tf.nn.relu(tf.matmul(x, Wx) + tf.matmul(h, Wh) + bh)  # BUG: exploding-recurrence


def unroll(sequence):
    h = tf.zeros([tf.shape(sequence)[0], HIDDEN])
    for t in tf.range(tf.shape(sequence)[1]):
        h = cell(h, sequence[:, t])
    return tf.matmul(h, Wo)


@tf.function
def train_step(sequence, target, rate):
    with tf.GradientTape() as tape:
        prediction = unroll(sequence)
        loss = tf.reduce_mean(tf.square(prediction - target))
    for p, g in zip(PARAMS, tape.gradient(loss, PARAMS)):
        p.assign_sub(rate * g)
    return loss


def make_batch(length):
    x = rng.uniform(0, 1, size=(BATCH, length, 1)).astype("float32")
    return tf.constant(x), tf.constant(x.mean(axis=1))


for length in (5, 10, LENGTH):
    loss = train_step(*make_batch(length), tf.constant(1e-12))
    print(f"sequence length {length:3d} loss {loss.numpy():.4g}")
