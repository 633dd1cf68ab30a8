"""Computes a log pair-count statistic for clusters of growing size."""

import tensorflow as tf

SIZES = [12, 450, 9_000, 60_000, 82_000]


def number_of_pairs(n):
    return n * (n - 1)  # BUG: integer-overflow


def log_pairs(n):
    pairs = tf.cast(number_of_pairs(n), tf.float32) / 2.0
    return tf.math.log(pairs)  # ALSO: integer-overflow


def expected_edges(n, density):
    return density * tf.exp(log_pairs(n))


@tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float32)])
def cluster_score(n, density):
    log_edges = tf.math.log(expected_edges(n, density))
    return log_edges / tf.math.log(tf.cast(n, tf.float32))


scores = []
for size in SIZES:
    score = cluster_score(tf.constant(size), tf.constant(0.3))
    scores.append(score)
    print(f"n={size:6d} score {score.numpy():.4f}")
print("mean score:", float(tf.reduce_mean(scores)))
