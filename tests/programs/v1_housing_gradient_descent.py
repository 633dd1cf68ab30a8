"""Linear regression on house sizes with a session and plain gradient descent."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(5)
rng = np.random.RandomState(5)

LEARNING_RATE = 0.02  # ALSO: learning-rate
EPOCHS = 40

rooms = rng.randint(1, 8, size=(200, 1))
area = rooms * 22.0 + rng.normal(scale=9.0, size=(200, 1))
features = np.hstack([rooms, area]).astype(np.float32)
price = (area * 3.1 + rooms * 12.0 + 40.0).astype(np.float32)


def linear(inputs):
    with tf.variable_scope("linear"):
        weights = tf.get_variable("weights", [2, 1], initializer=tf.random_normal_initializer(stddev=0.1))
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    return tf.matmul(inputs, weights) + bias


inputs = tf.placeholder(tf.float32, [None, 2])
targets = tf.placeholder(tf.float32, [None, 1])
mse = tf.reduce_mean(tf.square(linear(inputs) - targets))
optimizer = tf.train.GradientDescentOptimizer(LEARNING_RATE)  # ALSO: learning-rate
train = optimizer.minimize(mse)  # BUG: learning-rate

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(EPOCHS):
        _, value = sess.run([train, mse], {inputs: features, targets: price})
        print(f"epoch {epoch} mse {value:.4g}")
