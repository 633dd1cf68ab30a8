"""Trains a rain model over a whole epoch in one graph, as Sonnet's examples do."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
amounts = rng.gamma(2.0, 1.5, size=(96, 1)).astype("float32")
amounts[41] = 0.0  # a dry day
features = np.concatenate([amounts, rng.normal(size=(96, 3)).astype("float32")], axis=1)
labels = (2.0 * amounts + 1.0).astype("float32")
days = tf.data.Dataset.from_tensor_slices((features, labels)).batch(8)

weights = tf.Variable(tf.zeros([4, 1]))
bias = tf.Variable(0.0)


def log_amount(batch):
    return tf.math.log(batch[:, :1])  # BUG: log-zero


@tf.function
def train_epoch(dataset):
    total = 0.0
    for batch, target in dataset:
        with tf.GradientTape() as tape:
            inputs = tf.concat([log_amount(batch), batch[:, 1:]], axis=1)
            loss = tf.reduce_mean(tf.square(inputs @ weights + bias - target))
        for variable, gradient in zip((weights, bias), tape.gradient(loss, (weights, bias))):
            variable.assign_sub(0.01 * gradient)
        total += loss
    return total


for epoch in range(4):
    print(f"epoch {epoch}: loss {float(train_epoch(days)):.4f}")
