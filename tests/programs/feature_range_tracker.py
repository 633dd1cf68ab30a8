"""Tracks the running minimum and maximum of features and rescales batches with them."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(331)


class RangeTracker(tf.Module):
    def __init__(self, size):
        super().__init__()
        self.low = tf.Variable(tf.fill([size], float("inf")), trainable=False)
        self.high = tf.Variable(tf.fill([size], float("-inf")), trainable=False)

    def update(self, x):
        self.low.assign(tf.minimum(self.low, tf.reduce_min(x, axis=0)))
        self.high.assign(tf.maximum(self.high, tf.reduce_max(x, axis=0)))

    def scale(self, x):
        return (x - self.low) / tf.maximum(self.high - self.low, 1e-6)


tracker = RangeTracker(4)
w = tf.Variable(tf.zeros([4, 1]))


@tf.function
def train_step(x, y):
    tracker.update(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tracker.scale(x) @ w - y))
    w.assign_sub(0.2 * tape.gradient(loss, w))
    return loss


print("before:", tracker.low.numpy())
for step in range(20):
    x = rng.uniform(-5, 50, size=(16, 4)).astype("float32")
    x[:, 3] = 2.0  # a constant feature
    loss = train_step(tf.constant(x), tf.constant(x[:, :1] / 50.0))
    if step % 5 == 4:
        print(f"step {step + 1} loss {loss.numpy():.5f}")
print("after:", tracker.low.numpy(), tracker.high.numpy())
