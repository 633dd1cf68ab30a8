"""Autoencoder for sensor readings, fed in batches to a monitored session."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(23)
rng = np.random.RandomState(23)

readings = rng.normal(20.0, 4.0, size=(640, 12)).astype(np.float32)
readings[417, 3] = np.log(np.float32(-1.0))  # the logger writes this when a sensor is off line
scaled = (readings - 20.0) / 4.0


def batches(size):
    for start in range(0, len(scaled), size):
        yield scaled[start : start + size]


x = tf.placeholder(tf.float32, [None, 12], name="readings")
encoder = tf.get_variable("encoder", [12, 4], initializer=tf.glorot_uniform_initializer())
decoder = tf.get_variable("decoder", [4, 12], initializer=tf.glorot_uniform_initializer())
code = tf.nn.tanh(tf.matmul(x, encoder))
loss = tf.reduce_mean(tf.squared_difference(tf.matmul(code, decoder), x))
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step)

with tf.train.MonitoredSession() as sess:
    for epoch in range(2):
        total = 0.0
        for batch in batches(32):
            _, value = sess.run([train, loss], feed_dict={x: batch})  # BUG: nan-in-data
            total += value
        print("epoch", epoch, "loss", total / 20)
