"""Fits a polynomial trend to yearly measurements by gradient descent."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(27)
DEGREE = 12


def make_series():
    year = np.arange(1960, 2024, dtype="float32")
    value = 0.01 * (year - 1960) ** 1.5 + rng.normal(scale=0.2, size=year.shape)
    return year, value.astype("float32")


def polynomial_features(x, degree):
    exponents = tf.range(degree + 1, dtype=tf.float32)
    return tf.pow(x[:, None], exponents[None, :])  # BUG: pow-overflow


def standardize(features):
    mean = tf.reduce_mean(features, axis=0)
    std = tf.math.reduce_std(features, axis=0)
    return (features - mean) / (std + 1e-6)


def design_matrix(x):
    return standardize(polynomial_features(x, DEGREE))


year, value = make_series()
design = design_matrix(tf.constant(year))
coef = tf.Variable(tf.zeros([DEGREE + 1, 1]))
bias = tf.Variable(tf.reduce_mean(value))


@tf.function
def gradient_step(rate):
    with tf.GradientTape() as tape:
        fitted = tf.squeeze(design @ coef, axis=1) + bias
        loss = tf.reduce_mean(tf.square(fitted - value))
    g_coef, g_bias = tape.gradient(loss, [coef, bias])
    coef.assign_sub(rate * g_coef)
    bias.assign_sub(rate * g_bias)
    return loss


for step in range(5):
    print(f"step {step} mse {gradient_step(tf.constant(0.01)).numpy():.4f}")
