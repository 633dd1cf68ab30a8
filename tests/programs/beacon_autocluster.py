"""Locates a beacon from noisy distances; XLA chooses by itself what it compiles."""

import os

os.environ["TF_XLA_FLAGS"] = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_min_cluster_size=2"

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(4)
STATIONS = tf.constant([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0]])
TRUE = np.array([4.0, 3.0], "float32")
measured = tf.constant(np.linalg.norm(STATIONS.numpy() - TRUE, axis=1) + rng.normal(0, 0.02, 4).astype("float32"))
position = tf.Variable([1.0, 1.0])


@tf.function
def step(rate):
    with tf.GradientTape() as tape:
        offsets = STATIONS - position
        distances = tf.sqrt(tf.reduce_sum(offsets * offsets, axis=1))  # BUG: grad-sqrt-zero
        loss = tf.reduce_mean(tf.square(distances - measured))
    position.assign_sub(rate * tape.gradient(loss, position))
    return loss


for number in range(30):
    if number == 20:
        position.assign(STATIONS[3])  # snap to the nearest station, then refine
    loss = step(tf.constant(0.2))
    if number % 5 == 0:
        print(f"step {number}: loss {float(loss):.5f} at {position.numpy()}")
