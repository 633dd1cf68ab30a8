"""Logistic regression on click-through features computed with NumPy."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(181)


def make_log(n=120):
    shown = rng.integers(1, 50, size=n).astype("float64")
    clicked = np.floor(shown * rng.uniform(0, 1, size=n))
    shown[88], clicked[88] = 0, 0  # a campaign that has not started
    return shown, clicked


def build_features(shown, clicked):
    with np.errstate(all="ignore"):
        rate = clicked / shown  # ALSO: nan-in-data
    columns = np.stack([rate, np.log1p(shown), np.ones_like(shown)], axis=1)
    return columns.astype("float32")


shown, clicked = make_log()
features = build_features(shown, clicked)
labels = (features[:, 0] > 0.5).astype("float32")

weights = tf.Variable(tf.zeros([3, 1]))


def loss_fn(x, y):
    logits = tf.squeeze(tf.matmul(x, weights), axis=1)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))


def train(x, y, rate=0.3):
    with tf.GradientTape() as tape:
        loss = loss_fn(x, y)
    weights.assign_sub(rate * tape.gradient(loss, weights))
    return float(loss)


for start in range(0, 120, 20):
    x = tf.constant(features[start : start + 20])  # BUG: nan-in-data
    y = tf.constant(labels[start : start + 20])
    print(f"rows {start:3d}.. loss {train(x, y):.4f}")
print("weights", weights.numpy().ravel())
