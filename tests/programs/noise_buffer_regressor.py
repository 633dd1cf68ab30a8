"""A linear model whose input is disturbed by noise that is held in a variable."""

import tensorflow as tf

tf.random.set_seed(6)
slope = tf.Variable(tf.zeros([16, 1]))
noises = {}


def disturbed(step, batch):
    noise = tf.Variable(tf.random.normal(batch.shape, stddev=0.01))  # BUG: new-variables
    noises[step] = noise  # ALSO: new-variables
    return batch + noise


for step in range(25):
    batch = tf.random.normal([64, 16])
    target = tf.reduce_sum(batch, axis=1, keepdims=True)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(disturbed(step, batch) @ slope - target))
    slope.assign_sub(0.05 * tape.gradient(loss, slope))
print(f"loss {float(loss):.4f}")
