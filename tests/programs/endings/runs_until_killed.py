"""Trains until somebody kills it."""

import tensorflow as tf

weights = tf.Variable(tf.ones([8]))


@tf.function
def train_step() -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(weights) ** 2 + 1.0)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss


steps = 0
while True:
    train_step()
    steps += 1
    if steps == 5:
        print("5 steps", flush=True)
