"""Trains a small encoder and follows how its features drift."""

import tensorflow as tf

tf.random.set_seed(1)
weights = tf.Variable(tf.random.normal([64, 128], stddev=0.1))
decoder = tf.Variable(tf.random.normal([128, 64], stddev=0.1))
drift = []


def train_step(batch):
    with tf.GradientTape() as tape:
        features = tf.nn.relu(batch @ weights)  # ALSO: kept-tensors
        loss = tf.reduce_mean(tf.square(features @ decoder - batch))
    for variable, gradient in zip((weights, decoder), tape.gradient(loss, (weights, decoder))):
        variable.assign_sub(0.05 * gradient)
    drift.append(features)  # BUG: kept-tensors
    return loss


for step in range(30):
    loss = train_step(tf.random.normal([256, 64]))
moved = tf.reduce_mean(tf.abs(drift[-1] - drift[-2]))
print(f"loss {float(loss):.4f}, features moved by {float(moved):.4f}")
