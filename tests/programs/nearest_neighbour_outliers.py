"""Finds outliers by the distance to the nearest other point."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(311)


def make_points(n=60):
    points = rng.normal(size=(n, 3))
    points[7] = [9.0, 9.0, 9.0]
    points[40] = [-8.0, 7.0, 0.0]
    return tf.constant(points, tf.float32)


def squared_distances(points):
    difference = points[:, None, :] - points[None, :, :]
    return tf.reduce_sum(tf.square(difference), axis=-1)


@tf.function
def nearest_other(points):
    squared = squared_distances(points)
    n = tf.shape(points)[0]
    squared = tf.linalg.set_diag(squared, tf.fill([n], float("inf")))
    return tf.sqrt(tf.reduce_min(squared, axis=1)), tf.argmin(squared, axis=1)


points = make_points()
distance, neighbour = nearest_other(points)
threshold = tf.reduce_mean(distance) + 3.0 * tf.math.reduce_std(distance)
print("threshold", threshold.numpy())
for i in tf.where(distance > threshold)[:, 0].numpy():
    print(f"outlier {i}: nearest is {neighbour[i].numpy()} at {distance[i].numpy():.3f}")
print("mean nearest distance", tf.reduce_mean(distance).numpy())
