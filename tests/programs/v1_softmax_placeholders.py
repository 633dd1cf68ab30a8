"""Softmax classifier with placeholders and a session, the way tutorials for TensorFlow 1 had it."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(11)
rng = np.random.RandomState(11)
FEATURES, CLASSES = 20, 5

centres = rng.uniform(0, 40, size=(CLASSES, FEATURES))
labels = rng.randint(0, CLASSES, size=500)
data = (centres[labels] + rng.normal(scale=3.0, size=(500, FEATURES))).astype(np.float32)
one_hot = np.eye(CLASSES, dtype=np.float32)[labels]

x = tf.placeholder(tf.float32, [None, FEATURES], name="x")
y_ = tf.placeholder(tf.float32, [None, CLASSES], name="labels")
W = tf.Variable(tf.zeros([FEATURES, CLASSES]), name="W")
b = tf.Variable(tf.zeros([CLASSES]), name="b")
y = tf.nn.softmax(tf.matmul(x, W) + b)  # ALSO: cross-entropy-by-hand
cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))  # BUG: cross-entropy-by-hand
train_step = tf.train.GradientDescentOptimizer(0.05).minimize(cross_entropy)
correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(20):
        pick = rng.choice(500, 50)
        _, loss = sess.run([train_step, cross_entropy], feed_dict={x: data[pick], y_: one_hot[pick]})
        if step % 5 == 0:
            print(step, loss)
    print("accuracy", sess.run(accuracy, feed_dict={x: data, y_: one_hot}))
