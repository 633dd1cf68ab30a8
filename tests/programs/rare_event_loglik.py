"""Fits the rate of very rare events from log-probabilities of tiny numbers."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(383)
exposure = tf.constant(10.0 ** rng.uniform(-30, -20, size=64), tf.float32)
events = tf.constant((rng.uniform(size=64) < 0.5).astype("float32"))
log_rate = tf.Variable(40.0)


def log_probability(exposure, events):
    log_mean = log_rate + tf.math.log(exposure)
    p_none = -tf.exp(tf.minimum(log_mean, 80.0))
    return tf.reduce_mean(events * log_mean + p_none)


@tf.function
def fit_step(rate):
    with tf.GradientTape() as tape:
        loss = -log_probability(exposure, events)
    gradient = tf.clip_by_value(tape.gradient(loss, log_rate), -5.0, 5.0)
    log_rate.assign_sub(rate * gradient)
    return loss


for step in range(60):
    loss = fit_step(tf.constant(0.5))
    if step % 15 == 14:
        print(f"step {step + 1} loss {loss.numpy():.3f} log rate {log_rate.numpy():.3f}")
print("smallest exposure", tf.reduce_min(exposure).numpy())
