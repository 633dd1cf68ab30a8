"""Assigns points to centroids using the expanded form of the Euclidean distance."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(30)
K, DIM = 8, 16


def make_points(n=128):
    centres = rng.normal(scale=40.0, size=(K, DIM))
    which = rng.integers(0, K, size=n)
    return (centres[which] + rng.normal(scale=0.5, size=(n, DIM))).astype("float32")


def pairwise_distance(a, b):
    a2 = tf.reduce_sum(a * a, axis=1)[:, None]
    b2 = tf.reduce_sum(b * b, axis=1)[None, :]
    squared = a2 - 2.0 * tf.matmul(a, b, transpose_b=True) + b2  # ALSO: sqrt-negative
    return tf.sqrt(squared)  # BUG: sqrt-negative


@tf.function
def kmeans_step(points, centroids):
    distance = pairwise_distance(points, centroids)
    nearest = tf.argmin(distance, axis=1)
    inertia = tf.reduce_mean(tf.reduce_min(distance, axis=1))
    one_hot = tf.one_hot(nearest, K)
    sizes = tf.maximum(tf.reduce_sum(one_hot, axis=0), 1.0)
    updated = tf.matmul(one_hot, points, transpose_a=True) / sizes[:, None]
    return updated, inertia


points = tf.constant(make_points())
centroids = tf.identity(points[:K])
for iteration in range(5):
    centroids, inertia = kmeans_step(points, centroids)
    print(f"iteration {iteration}: inertia {inertia.numpy():.4f}")

spread = pairwise_distance(points, points)
print("mean distance between points:", tf.reduce_mean(spread).numpy())
