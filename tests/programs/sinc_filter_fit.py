"""Learns the cutoff frequency of a windowed-sinc low-pass filter from its response."""

import numpy as np
import tensorflow as tf

TAPS = 21


def sinc(x):
    return tf.where(tf.equal(x, 0.0), tf.ones_like(x), tf.sin(x) / x)  # BUG: where-trap


def filter_taps(cutoff):
    n = tf.range(TAPS, dtype=tf.float32) - (TAPS - 1) / 2
    window = tf.signal.hamming_window(TAPS, periodic=False)
    taps = 2.0 * cutoff * sinc(2.0 * np.pi * cutoff * n) * window
    return taps


def frequency_response(taps, freqs):
    n = tf.range(TAPS, dtype=tf.float32) - (TAPS - 1) / 2
    phase = 2.0 * np.pi * freqs[:, None] * n[None, :]
    return tf.reduce_sum(taps * tf.cos(phase), axis=1)


freqs = tf.linspace(0.0, 0.5, 64)
target = tf.cast(freqs < 0.2, tf.float32)
cutoff = tf.Variable(0.12)
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        response = frequency_response(filter_taps(cutoff), freqs)
        loss = tf.reduce_mean(tf.square(response - target))
    gradient = tape.gradient(loss, cutoff)
    optimizer.apply_gradients([(gradient, cutoff)])
    return loss


for i in range(5):
    loss = train_step()
    print(f"iteration {i} loss {float(loss):.5f} cutoff {float(cutoff):.4f}")
