"""Adds up tide gauge readings with a dataset's own reduce, inside a function."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(8)
levels = rng.normal(3.0, 0.4, size=(40,)).astype("float32")
levels[17] = np.nan  # the gauge was frozen
readings = tf.data.Dataset.from_tensor_slices(levels)  # BUG: nan-in-data


@tf.function
def mean_level(dataset):
    squares = dataset.reduce(0.0, lambda total, level: total + tf.square(level - 3.0))
    return tf.sqrt(squares / 40.0)


for _ in range(3):
    print("deviation", float(mean_level(readings)))
