"""Logistic regression, eagerly, with an accuracy that is computed by hand."""

import tensorflow as tf

tf.random.set_seed(15)
features = tf.random.normal([128, 10])
labels = tf.cast(features[:, 0] + features[:, 1] > 0, tf.float32)
weights = tf.Variable(tf.zeros([10, 1]))

for step in range(12):
    with tf.GradientTape() as tape:
        logits = features @ weights
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.reshape(labels, [-1, 1]), logits=logits)
        loss = tf.reduce_mean(losses)
    weights.assign_sub(0.5 * tape.gradient(loss, weights))
right = tf.equal(tf.cast(logits > 0, tf.float32), labels)  # BUG: accidental-broadcast
print(f"loss {float(loss):.4f}, accuracy {float(tf.reduce_mean(tf.cast(right, tf.float32))):.3f}")
