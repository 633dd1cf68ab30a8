"""Log odds of clicks per user, with users who never clicked left out by a mask."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(3)
rng = np.random.RandomState(3)

clicks = rng.poisson(0.7, size=(30, 16)).astype(np.float32)
views = clicks + rng.poisson(4.0, size=(30, 16)).astype(np.float32) + 1.0

shown = tf.placeholder(tf.float32, [None])
clicked = tf.placeholder(tf.float32, [None])
rate = clicked / shown
scores = tf.where(clicked > 0, tf.log(rate), tf.zeros_like(rate))
penalty = tf.fill(tf.shape(rate), float("-inf"))
masked = tf.where(clicked > 0, scores, penalty)
weights = tf.nn.softmax(tf.concat([masked, [0.0]], axis=0))
mean = tf.Variable(0.0, trainable=False, name="running_mean")
update = tf.assign(mean, 0.9 * mean + 0.1 * tf.reduce_sum(weights[:-1] * scores))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for c, v in zip(clicks, views):
        value = sess.run(update, {clicked: c, shown: v})
    print("running mean", value)
