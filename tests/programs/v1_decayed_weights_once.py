"""TensorFlow 1 style: gradient descent, and a decay that is built once and run after each step."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(8)
rng = np.random.default_rng(8)
x = tf.placeholder(tf.float32, [None, 8])
y = tf.placeholder(tf.float32, [None, 1])
weights = tf.get_variable("weights", [8, 1])
loss = tf.reduce_mean(tf.square(x @ weights - y))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
decay = weights.assign(weights * 0.999)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(25):
        features = rng.normal(size=(32, 8)).astype(np.float32)
        feed = {x: features, y: features.sum(axis=1, keepdims=True)}
        session.run(train, feed)
        session.run(decay)
    print("loss", session.run(loss, feed))
