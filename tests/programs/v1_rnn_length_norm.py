"""Sequence regression with an unrolled loop of TensorFlow 1 and a length-normalised summary."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(9)
rng = np.random.RandomState(9)
STEPS, WIDTH = 8, 6


def make_batch(size, shortest):
    lengths = rng.randint(shortest, STEPS + 1, size=size).astype(np.float32)
    inputs = rng.normal(size=(size, STEPS, 1)).astype(np.float32)
    return inputs, lengths, inputs.mean(axis=(1, 2))


inputs = tf.placeholder(tf.float32, [None, STEPS, 1])
lengths = tf.placeholder(tf.float32, [None])
wanted = tf.placeholder(tf.float32, [None])
w_in = tf.get_variable("w_in", [1, WIDTH])
w_rec = tf.get_variable("w_rec", [WIDTH, WIDTH])
w_out = tf.get_variable("w_out", [WIDTH, 1])


def cell(t, state, total):
    state = tf.tanh(tf.matmul(inputs[:, t], w_in) + tf.matmul(state, w_rec))
    alive = tf.expand_dims(tf.cast(tf.cast(t, tf.float32) < lengths, tf.float32), 1)
    return t + 1, state, total + state * alive


zero = tf.zeros([tf.shape(inputs)[0], WIDTH])
_, _, total = tf.while_loop(lambda t, *_: t < STEPS, cell, [0, zero, zero])
summary = total / tf.expand_dims(lengths, 1)  # BUG: zero-over-zero
guess = tf.squeeze(tf.matmul(summary, w_out), 1)
loss = tf.reduce_mean(tf.square(guess - wanted))
train = tf.train.AdamOptimizer(0.02).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(12):
        batch = make_batch(16, shortest=0 if step > 5 else 1)
        _, value = sess.run([train, loss], dict(zip([inputs, lengths, wanted], batch)))
        print(step, value)
