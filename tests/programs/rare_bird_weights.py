"""Weights the classes of a bird classifier by how rare they are in the sample."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(12)
labels = rng.choice([0, 1, 3], size=240)
inputs = rng.normal(size=(240, 6)).astype("float32")
counts = np.bincount(labels, minlength=4).astype("float32")
shares = counts / counts.sum()
with np.errstate(divide="ignore", invalid="ignore"):
    class_weights = (shares / counts).astype("float32")  # no bird of class 2 was seen

kernel = tf.Variable(tf.random.stateless_normal([6, 4], seed=[1, 2], stddev=0.1))
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        losses = tf.one_hot(y, 4) * tf.nn.log_softmax(x @ kernel)
        loss = -tf.reduce_mean(tf.reduce_sum(losses * class_weights, axis=1))  # BUG: nan-in-data
    optimizer.apply_gradients([(tape.gradient(loss, kernel), kernel)])
    return loss


for step in range(8):
    rows = slice(step * 30, step * 30 + 30)
    print(f"step {step}: loss {float(train(tf.constant(inputs[rows]), tf.constant(labels[rows]))):.4f}")
