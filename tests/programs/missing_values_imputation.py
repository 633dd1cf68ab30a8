"""Fills missing table cells with column means and trains a regressor on the result."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(349)
rng = np.random.default_rng(349)


def make_table(n=150):
    x = rng.normal(loc=[1.0, 5.0, -2.0], size=(n, 3)).astype("float32")
    y = (x @ np.array([[0.5], [-0.2], [1.0]])).astype("float32")
    x[rng.uniform(size=x.shape) < 0.1] = np.nan
    return x, y


def column_means(x):
    present = tf.math.logical_not(tf.math.is_nan(x))
    total = tf.reduce_sum(tf.where(present, x, tf.zeros_like(x)), axis=0)
    return total / tf.reduce_sum(tf.cast(present, tf.float32), axis=0)


def impute(x, means):
    missing = tf.math.is_nan(x)
    filled = tf.where(missing, means, x)
    return tf.concat([filled, tf.cast(missing, tf.float32)], axis=-1)


x, y = make_table()
means = column_means(tf.constant(x))
dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (impute(a, means), b)).batch(25)
model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(dataset, epochs=4, verbose=2)
print("losses", [round(v, 3) for v in history.history["loss"]])
