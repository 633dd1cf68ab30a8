"""Fits the cooling curve of a kiln while TensorFlow's own debugger dumps what it sees."""

import tempfile

import numpy as np
import tensorflow as tf

tf.debugging.experimental.enable_dump_debug_info(tempfile.mkdtemp(), tensor_debug_mode="FULL_HEALTH")
hours = np.linspace(0.0, 6.0, 24).astype("float32")
degrees = (900.0 * np.exp(-0.6 * hours) + 20.0).astype("float32")
degrees[20:] = 20.0
rate = tf.Variable(0.1)


@tf.function
def loss_of(hours, degrees):
    logs = tf.math.log(degrees - 20.0)  # BUG: log-zero
    return tf.reduce_mean(tf.square(logs + rate * hours - 6.8))


for start in (0, 6, 12, 18):
    window = slice(start, start + 6)
    print(f"loss {float(loss_of(tf.constant(hours[window]), tf.constant(degrees[window]))):.4f}")
