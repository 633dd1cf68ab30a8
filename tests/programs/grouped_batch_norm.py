"""Normalises each group of a batch on its own, including groups without members."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(389)
rng = np.random.default_rng(389)
GROUPS, DIM = 4, 5

kernel = tf.Variable(tf.random.normal([DIM, 1], stddev=0.3))
moving_mean = tf.Variable(tf.zeros([GROUPS, DIM]), trainable=False)


def group_statistics(x, groups):
    size = tf.math.unsorted_segment_sum(tf.ones_like(x[:, :1]), groups, GROUPS)
    mean = tf.math.unsorted_segment_sum(x, groups, GROUPS) / tf.maximum(size, 1.0)
    centred = x - tf.gather(mean, groups)
    variance = tf.math.unsorted_segment_sum(tf.square(centred), groups, GROUPS) / tf.maximum(size, 1.0)
    return mean, variance, size


def normalize(x, groups):
    mean, variance, size = group_statistics(x, groups)
    moving_mean.assign(tf.where(size > 0.0, 0.9 * moving_mean + 0.1 * mean, moving_mean))
    return (x - tf.gather(mean, groups)) * tf.math.rsqrt(tf.gather(variance, groups) + 1e-3)


@tf.function
def train_step(x, groups, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(normalize(x, groups) @ kernel - y))
    kernel.assign_sub(0.05 * tape.gradient(loss, kernel))
    return loss


for step in range(24):
    groups = rng.integers(0, GROUPS - 1 if step % 2 else GROUPS, size=12)
    x = rng.normal(size=(12, DIM)).astype("float32") + groups[:, None]
    loss = train_step(tf.constant(x, tf.float32), tf.constant(groups, tf.int32), tf.constant(x[:, :1], tf.float32))
    if step % 6 == 5:
        print(f"step {step + 1} loss {loss.numpy():.4f}")
print("moving mean of the last group:", moving_mean[-1].numpy().round(3))
