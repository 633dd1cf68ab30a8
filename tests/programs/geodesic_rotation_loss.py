"""Evaluates predicted camera rotations by their geodesic angle to the truth."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(73)


def rotation_from_axis_angle(vector):
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    axis = vector / angle
    x, y, z = np.moveaxis(axis, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(-1, 3, 3)
    s, c = np.sin(angle)[..., None], np.cos(angle)[..., None]
    return np.round(np.eye(3) + s * skew + (1 - c) * skew @ skew, 6).astype("float32")  # as poses are saved


def relative_rotation(a, b):
    return tf.matmul(a, b, transpose_a=True)


def geodesic_angle(a, b):
    cosine = (tf.linalg.trace(relative_rotation(a, b)) - 1.0) / 2.0
    return tf.acos(cosine)  # BUG: out-of-domain


@tf.function
def evaluate(predicted, truth):
    angle = geodesic_angle(predicted, truth)
    return tf.reduce_mean(angle) * 180.0 / np.pi


vectors = rng.normal(size=(400, 3))
truth = rotation_from_axis_angle(vectors)
for noise in (0.5, 0.1, 0.01, 0.0):
    predicted = rotation_from_axis_angle(vectors + rng.normal(scale=noise, size=vectors.shape))
    print(f"noise {noise:<7} mean error {evaluate(predicted, truth).numpy():.4f} degrees")
