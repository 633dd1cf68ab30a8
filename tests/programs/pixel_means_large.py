"""Standardises images with means and deviations of the training set, kept as arrays."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(5)
images = rng.uniform(0.0, 255.0, size=(64, 16, 16)).astype("float32")
images[:, 0, :] = 0.0  # a black border
spread = images.std(axis=0)
with np.errstate(divide="ignore"):
    inverse = (1.0 / spread).astype("float32")
offset = (inverse - inverse).astype("float32")


@tf.function
def standardise(batch):
    return tf.reduce_mean(batch * 0.01 + offset)  # BUG: nan-in-data


for step in range(4):
    print("mean", float(standardise(tf.constant(images[step * 16 : step * 16 + 16]))))
