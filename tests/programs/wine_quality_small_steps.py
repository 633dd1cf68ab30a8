"""Predicts the quality of wine with a hand-written MLP and small steps of gradient descent."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(814)
rng = np.random.default_rng(814)
FEATURES, HIDDEN, RATE = 8, 32, 0.02

w1 = tf.Variable(tf.random.normal([FEATURES, HIDDEN], stddev=0.5))
b1 = tf.Variable(tf.zeros([HIDDEN]))
w2 = tf.Variable(tf.random.normal([HIDDEN, 1], stddev=1.0))
b2 = tf.Variable(tf.zeros([1]))
weights = [w1, b1, w2, b2]


def wines(n):
    x = rng.uniform(0.0, 1.0, size=(n, FEATURES)).astype("float32")
    quality = 4 + 3 * x[:, :1] - 2 * x[:, 1:2] * x[:, 2:3]
    return tf.constant(x), tf.constant(quality, tf.float32)


@tf.function
def train_step(x, quality):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
        predicted = tf.matmul(hidden, w2) + b2
        loss = tf.reduce_mean(tf.square(predicted - quality))
    for weight, gradient in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(RATE * gradient)
    return loss


for step in range(80):
    loss = train_step(*wines(64))
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.numpy():.4f}")
