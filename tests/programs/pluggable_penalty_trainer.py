"""A train step that takes its penalty as a function."""

import tensorflow as tf

tf.random.set_seed(11)
weights = tf.Variable(tf.ones([8, 1]))


@tf.function
def train_step(batch, target, penalty):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ weights - target)) + penalty(weights)
    weights.assign_sub(0.05 * tape.gradient(loss, weights))
    return loss


for step in range(16):
    batch = tf.random.normal([64, 8])
    target = tf.reduce_sum(batch, axis=1, keepdims=True) * 0.5
    loss = train_step(batch, target, lambda w: 0.01 * tf.reduce_sum(tf.square(w)))  # BUG: retracing
print(f"loss {float(loss):.4f}")
