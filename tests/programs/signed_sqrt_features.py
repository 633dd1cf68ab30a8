"""Fits a regression on square-root compressed network features."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(23)
rng = np.random.default_rng(23)


def compress(x):
    # square root for positive activations, linear for the others
    return tf.where(x > 0.0, tf.sqrt(x), 0.1 * x)


class Regressor(tf.Module):
    def __init__(self, hidden=8):
        self.w1 = tf.Variable(tf.random.normal([3, hidden], stddev=0.5))
        self.b1 = tf.Variable(tf.ones([hidden]) * 0.1)
        self.w2 = tf.Variable(tf.random.normal([hidden, 1], stddev=0.5))

    def __call__(self, x):
        hidden = compress(x @ self.w1 + self.b1)
        return hidden @ self.w2


def make_data(n=64):
    x = rng.normal(size=(n, 3)).astype("float32")
    y = np.sqrt(np.abs(x[:, :1])) + 0.2 * x[:, 1:2]
    return tf.constant(x), tf.constant(y.astype("float32"))


model = Regressor()
optimizer = tf.keras.optimizers.Adam(0.01)
x, y = make_data()


def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for i in range(4):
    print(f"step {i} mse {float(step()):.5f}")
