"""Fits the dispersion of a negative binomial model to single-cell-like counts."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(89)
counts = tf.constant(rng.poisson(3.0, size=200).astype("float32"))

raw_mean = tf.Variable(0.5)
raw_dispersion = tf.Variable(1.0)


def parameters():
    return tf.nn.softplus(raw_mean), tf.nn.relu(raw_dispersion)  # ALSO: out-of-domain


def nb_log_prob(k, mean, r):
    coefficient = tf.math.lgamma(k + r) - tf.math.lgamma(r) - tf.math.lgamma(k + 1.0)  # BUG: out-of-domain
    return coefficient + r * tf.math.log(r / (r + mean) + 1e-8) + k * tf.math.log(mean / (r + mean))


@tf.function
def train_step(rate):
    with tf.GradientTape() as tape:
        mean, r = parameters()
        nll = -tf.reduce_mean(nb_log_prob(counts, mean, r))
        penalty = 2.0 * r
        loss = nll + penalty
    gm, gr = tape.gradient(loss, [raw_mean, raw_dispersion])
    raw_mean.assign_sub(rate * gm)
    raw_dispersion.assign_sub(rate * gr)
    return nll


for step in range(20):
    nll = train_step(tf.constant(0.4))
    mean, r = parameters()
    print(f"step {step:2d} nll {nll.numpy():.4f} mean {mean.numpy():.3f} dispersion {r.numpy():.3f}")
