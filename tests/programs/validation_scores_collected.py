"""Collects the predictions of an epoch and computes one number of all of them at its end."""

import tensorflow as tf

tf.random.set_seed(5)
weights = tf.Variable(tf.random.normal([32, 64], stddev=0.1))

collected = []
for step in range(32):
    batch = tf.random.normal([512, 32])
    with tf.GradientTape() as tape:
        predicted = tf.tanh(batch @ weights)
        loss = tf.reduce_mean(tf.square(predicted - 0.5))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    collected.append(predicted)
everything = tf.concat(collected, axis=0)
print(f"loss {float(loss):.4f}, mean {float(tf.reduce_mean(everything)):.4f}")
