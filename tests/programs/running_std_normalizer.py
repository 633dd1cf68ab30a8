"""Normalises a stream of sensor readings with running moments before a linear read-out."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(12)


class RunningMoments(tf.Module):
    """Keeps sums of x and x squared, as in many RL code bases."""

    def __init__(self, size):
        self.count = tf.Variable(0.0)
        self.total = tf.Variable(tf.zeros([size]))
        self.total_sq = tf.Variable(tf.zeros([size]))

    def update(self, x):
        self.count.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        self.total.assign_add(tf.reduce_sum(x, 0))
        self.total_sq.assign_add(tf.reduce_sum(tf.square(x), 0))

    def std(self):
        mean = self.total / self.count
        variance = self.total_sq / self.count - tf.square(mean)  # ALSO: sqrt-negative
        return tf.sqrt(variance)  # BUG: sqrt-negative

    def normalize(self, x):
        return (x - self.total / self.count) / (self.std() + 1e-6)


def read_sensors(n):
    temperature = rng.normal(20, 5, size=(n, 1))
    pressure = rng.normal(101325.0, 0.5, size=(n, 1))
    humidity = rng.uniform(0, 1, size=(n, 1))
    return np.hstack([temperature, pressure, humidity]).astype("float32")


moments = RunningMoments(3)
readout = tf.Variable([[0.2], [0.5], [-0.3]])


@tf.function
def observe(x):
    moments.update(x)
    z = moments.normalize(x)
    return tf.reduce_mean(z @ readout)


for minute in range(20):
    score = observe(read_sensors(16))
    if minute % 4 == 3:
        print(f"minute {minute + 1:2d} comfort score {score.numpy():.4f}")
print("std", moments.std().numpy())
