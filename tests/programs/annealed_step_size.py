"""Linear regression with a step size that is annealed in Python."""

import tensorflow as tf

tf.random.set_seed(9)
weights = tf.Variable(tf.zeros([8, 1]))


@tf.function
def train_step(batch, target, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ weights - target))
    weights.assign_sub(rate * tape.gradient(loss, weights))
    return loss


for step in range(20):
    batch = tf.random.normal([64, 8])
    loss = train_step(batch, tf.reduce_sum(batch, axis=1, keepdims=True), 0.1 * 0.95**step)  # BUG: retracing
print(f"loss {float(loss):.4f}")
