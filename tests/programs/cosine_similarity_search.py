"""Finds the most similar items of a small catalogue by cosine similarity."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(131)
ITEMS, TAGS = 30, 12


def build_catalogue():
    tags = (rng.uniform(size=(ITEMS, TAGS)) < 0.4).astype("float32")
    tags[tags.sum(axis=1) == 0, 0] = 1.0
    tags[17] = 0.0  # item that nobody has tagged yet
    return tf.constant(tags)


def unit_rows(matrix):
    length = tf.sqrt(tf.reduce_sum(tf.square(matrix), axis=1, keepdims=True))
    return matrix / length  # BUG: normalise-zero


def cosine_matrix(a, b):
    return tf.matmul(unit_rows(a), unit_rows(b), transpose_b=True)


@tf.function
def most_similar(catalogue, index, k=3):
    query = tf.gather(catalogue, [index])
    scores = tf.squeeze(cosine_matrix(query, catalogue), axis=0)
    return tf.math.top_k(scores, k=k)


catalogue = build_catalogue()
for index in (0, 5, 17):
    values, neighbours = most_similar(catalogue, tf.constant(index))
    print(f"item {index}: neighbours {neighbours.numpy()} scores {values.numpy().round(3)}")
print("mean similarity:", float(tf.reduce_mean(cosine_matrix(catalogue, catalogue))))
