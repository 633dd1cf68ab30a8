"""Minimises the entropy of sparse rates with a guarded x log x."""

import tensorflow as tf

tf.random.set_seed(307)


def xlogx(x):
    positive = x > 0.0
    safe = tf.where(positive, x, tf.ones_like(x))
    return tf.where(positive, safe * tf.math.log(safe), tf.zeros_like(x))


def rates(scores):
    clipped = tf.nn.relu(scores)
    return tf.math.divide_no_nan(clipped, tf.reduce_sum(clipped, axis=1, keepdims=True))


def entropy(scores):
    return -tf.reduce_mean(tf.reduce_sum(xlogx(rates(scores)), axis=1))


scores = tf.Variable(tf.random.normal([16, 6]))
scores[3].assign(-tf.ones([6]))  # a row without any positive score
optimizer = tf.keras.optimizers.Adam(0.05)


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = entropy(scores)
    optimizer.apply_gradients([(tape.gradient(loss, scores), scores)])
    return loss


for i in range(20):
    loss = step()
    if i % 5 == 4:
        print(f"step {i + 1} entropy {loss.numpy():.4f}")
print("finite scores:", bool(tf.reduce_all(tf.math.is_finite(scores))))
