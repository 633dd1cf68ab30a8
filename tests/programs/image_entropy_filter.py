"""Weights synthetic images by the entropy of their histogram and trains a brightness regressor."""

import numpy as np
import tensorflow as tf

BINS = 8
rng = np.random.default_rng(3)


def make_images(n=64):
    images = rng.uniform(0, 1, size=(n, 16, 16)).astype("float32")
    images[41] = 0.5  # lens cap was on
    return images, images.mean(axis=(1, 2)).astype("float32")


def histogram(image):
    counts = tf.histogram_fixed_width(image, [0.0, 1.0], nbins=BINS)
    return tf.cast(counts, tf.float32) / tf.cast(tf.size(image), tf.float32)


def entropy(image):
    p = histogram(image)
    return -tf.reduce_sum(p * tf.math.log(p))  # BUG: log-zero


def prepare(image, target):
    weight = entropy(image) / np.log(BINS)
    return tf.reshape(image, [-1]), target, weight


images, targets = make_images()
dataset = tf.data.Dataset.from_tensor_slices((images, targets)).map(prepare).batch(8)

w = tf.Variable(tf.zeros([256, 1]))
b = tf.Variable(0.0)
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def train_step(x, y, sample_weight):
    with tf.GradientTape() as tape:
        pred = tf.squeeze(x @ w, axis=1) + b
        loss = tf.reduce_mean(sample_weight * tf.square(pred - y))
    grads = tape.gradient(loss, [w, b])
    optimizer.apply_gradients(zip(grads, [w, b]))
    return loss


for epoch in range(2):
    for step, (x, y, sw) in enumerate(dataset):
        loss = train_step(x, y, sw)
        print(f"epoch {epoch} step {step} loss {float(loss):.5f}")
