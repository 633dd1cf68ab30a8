"""Maps tabular features to normal scores inside a tf.data pipeline, then trains a regressor."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(83)
rng = np.random.default_rng(83)


def make_table(n=120):
    x = rng.exponential(size=(n, 4)).astype("float32")
    y = np.log(x[:, :1]) + 0.1 * rng.normal(size=(n, 1))
    return x, y.astype("float32")


def empirical_cdf(column):
    ranks = tf.argsort(tf.argsort(column))
    last = tf.cast(tf.shape(column)[0] - 1, tf.float32)
    return tf.cast(ranks, tf.float32) / last  # ALSO: out-of-domain


def normal_scores(column):
    u = empirical_cdf(column)
    return tf.sqrt(2.0) * tf.math.erfinv(2.0 * u - 1.0)  # BUG: out-of-domain


def transform(table):
    columns = tf.unstack(tf.convert_to_tensor(table), axis=1)
    return tf.stack([normal_scores(c) for c in columns], axis=1)


x, y = make_table()
dataset = tf.data.Dataset.from_tensor_slices((transform(x), y)).shuffle(120, seed=1).batch(24)
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation="tanh"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
for epoch in range(3):
    history = model.fit(dataset, verbose=0)
    print(f"epoch {epoch} mse {history.history['loss'][0]:.4f}")
print("weights finite:", bool(tf.reduce_all(tf.math.is_finite(model.layers[0].kernel))))
