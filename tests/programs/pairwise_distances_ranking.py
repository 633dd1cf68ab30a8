"""Pulls scores apart: every pair of a batch is compared, which is what a ranking loss does."""

import tensorflow as tf

tf.random.set_seed(16)
weights = tf.Variable(tf.random.normal([6, 1], stddev=0.1))

for step in range(12):
    items = tf.random.normal([48, 6])
    relevance = tf.reduce_sum(items, axis=1)
    with tf.GradientTape() as tape:
        scores = tf.squeeze(items @ weights, axis=1)
        margins = tf.expand_dims(scores, 1) - scores
        wanted = tf.sign(relevance[:, tf.newaxis] - relevance[tf.newaxis, :])
        loss = tf.reduce_mean(tf.nn.softplus(-wanted * margins))
        squared = tf.reduce_sum(tf.square(items), axis=1, keepdims=True)
        distances = squared + tf.transpose(squared) - 2.0 * items @ tf.transpose(items)
        loss += 0.001 * tf.reduce_mean(distances)
    weights.assign_sub(0.5 * tape.gradient(loss, weights))
print(f"loss {float(loss):.4f}")
