"""Fits a robust curve whose softplus has a custom gradient."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(19)


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)  # BUG: exp-overflow
    value = tf.where(x > 30.0, x, tf.math.log1p(e))

    def grad(upstream):
        return upstream * e / (1.0 + e)  # ALSO: exp-overflow

    return value, grad


def predict(params, x):
    slope, offset, gain = params
    return gain * log1pexp(slope * (x - offset))


def make_curve(n=50):
    x = np.linspace(-3.0, 3.0, n).astype("float32")
    x[n // 2] = 130.0  # outlier
    y = np.log1p(np.exp(np.minimum(x, 5.0))) + rng.normal(scale=0.05, size=n)
    return tf.constant(x), tf.constant(y, tf.float32)


params = [tf.Variable(0.8), tf.Variable(0.1), tf.Variable(0.9)]
optimizer = tf.keras.optimizers.Adam(0.03)
x, y = make_curve()


@tf.function
def fit_step():
    with tf.GradientTape() as tape:
        residual = predict(params, x) - y
        loss = tf.reduce_mean(tf.abs(residual))
    grads = tape.gradient(loss, params)
    optimizer.apply_gradients(zip(grads, params))
    return loss


for step in range(12):
    loss = fit_step()
    print(f"step {step:2d} mae {float(loss):.4f} slope {float(params[0]):.4f}")
