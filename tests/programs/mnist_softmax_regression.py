"""Softmax regression on digit-like images in the style of the first TensorFlow tutorial."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(47)
rng = np.random.default_rng(47)
PIXELS, CLASSES = 64, 10


def fake_digits(n=600):
    prototypes = rng.uniform(0, 255, size=(CLASSES, PIXELS))
    labels = rng.integers(0, CLASSES, size=n)
    images = prototypes[labels] + rng.normal(scale=20.0, size=(n, PIXELS))
    return np.clip(images, 0, 255).astype("float32"), np.eye(CLASSES, dtype="float32")[labels]


W = tf.Variable(tf.zeros([PIXELS, CLASSES]))
b = tf.Variable(tf.zeros([CLASSES]))


def model(x):
    return tf.nn.softmax(tf.matmul(x, W) + b)  # ALSO: cross-entropy-by-hand


def cross_entropy(y_true, y):
    return tf.reduce_mean(-tf.reduce_sum(y_true * tf.math.log(y), axis=1))  # BUG: cross-entropy-by-hand


@tf.function
def train(x, y_true, rate):
    with tf.GradientTape() as tape:
        loss = cross_entropy(y_true, model(x))
    gW, gb = tape.gradient(loss, [W, b])
    W.assign_sub(rate * gW)
    b.assign_sub(rate * gb)
    return loss


def accuracy(x, y_true):
    hit = tf.equal(tf.argmax(model(x), 1), tf.argmax(y_true, 1))
    return float(tf.reduce_mean(tf.cast(hit, tf.float32)))


images, labels = fake_digits()
rate = tf.constant(5e-4)
for step in range(10):
    pick = slice(step * 50, step * 50 + 50)
    loss = train(images[pick], labels[pick], rate)
    print(f"step {step} loss {loss.numpy():.4f}")
print("accuracy", accuracy(images[500:], labels[500:]))
