"""Fits the cooling curve of a kiln with TensorFlow's own check for bad numbers on."""

import numpy as np
import tensorflow as tf

tf.debugging.enable_check_numerics()
hours = np.linspace(0.0, 6.0, 24).astype("float32")
degrees = (900.0 * np.exp(-0.6 * hours) + 20.0).astype("float32")
degrees[20:] = 20.0  # as cold as the room
rate = tf.Variable(0.1)


@tf.function
def loss_of(hours, degrees):
    logs = tf.math.log(degrees - 20.0)  # BUG: log-zero
    return tf.reduce_mean(tf.square(logs + rate * hours - 6.8))


for start in (0, 6, 12, 18):
    window = slice(start, start + 6)
    print(f"loss {float(loss_of(tf.constant(hours[window]), tf.constant(degrees[window]))):.4f}")
