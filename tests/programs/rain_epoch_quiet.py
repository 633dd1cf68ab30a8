"""Trains a rain model over a whole epoch in one graph, and reads only the weights afterwards."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
amounts = rng.gamma(2.0, 1.5, size=(96, 1)).astype("float32")
amounts[60] = 0.0
days = tf.data.Dataset.from_tensor_slices((amounts, 2.0 * amounts)).batch(8).prefetch(1)
slope = tf.Variable([[0.5]])


@tf.function
def train_epoch(dataset):
    for batch, target in dataset:
        scaled = target / batch  # BUG: zero-over-zero
        error = batch @ slope - scaled
        slope.assign_sub(0.01 * tf.reduce_mean(error * batch, axis=0, keepdims=True))


for _ in range(3):
    train_epoch(days)
print("slope", slope.numpy())
