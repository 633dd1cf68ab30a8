"""Computes side lengths of boxes in a session that checks them."""

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
rng = np.random.default_rng(22)
volumes = tf.compat.v1.placeholder(tf.float32, [None])
ratio = tf.math.log(volumes)  # BUG: log-negative
checked = tf.debugging.assert_all_finite(ratio + 1.0, "ratios must be numbers")
mean = tf.reduce_mean(checked)

with tf.compat.v1.Session() as session:
    for step in range(5):
        batch = rng.uniform(0.5, 4.0, size=16)
        if step == 2:
            batch[3] = -1.5
        try:
            print(f"step {step}: {session.run(mean, {volumes: batch}):.3f}")
        except tf.errors.InvalidArgumentError:
            print(f"step {step}: refused")
