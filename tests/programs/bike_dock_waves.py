"""Demand at bike docks by dock, hour and weather: random waves over the map beside a table of docks, in a plain loop."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(4013)
rng = np.random.default_rng(4013)
DOCKS, WIDTH, BATCH, STEPS = 30, 8, 64, 60
PLACES = rng.uniform(-1.0, 1.0, (DOCKS, 2)).astype("float32")
LEVEL = np.sin(3 * PLACES[:, 0]) + rng.normal(0.0, 0.5, DOCKS)


class Waves:
    """Random Fourier features of a place: drawn once, and meant to stay."""

    def __init__(self):
        self.directions = tf.Variable(tf.random.normal((2, WIDTH), stddev=2.0), trainable=False, name="directions")

    def __call__(self, docks):
        return tf.sin(tf.gather(PLACES, docks) @ self.directions)


class DockTable:
    """What is learned of each dock; shared with the map that draws them."""

    def __init__(self):
        self.rows = tf.Variable(tf.random.normal((DOCKS, WIDTH), stddev=0.3), name="dock_rows")

    def __call__(self, docks):
        return tf.nn.embedding_lookup(self.rows, docks)


def trips():
    docks, hours, rain = rng.integers(0, DOCKS, BATCH), rng.uniform(0, 24, BATCH), rng.random(BATCH)
    demand = LEVEL[docks] + np.sin(hours / 24 * 2 * np.pi) - 1.5 * rain + rng.normal(0, 0.1, BATCH)
    around = np.stack([np.sin(hours / 24 * 2 * np.pi), np.cos(hours / 24 * 2 * np.pi), rain], 1)
    return docks.astype("int32"), around.astype("float32"), demand[:, None].astype("float32")


waves, table = Waves(), DockTable()
model = keras.Sequential([keras.Input((2 * WIDTH + 3,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(5e-3)

for step in range(STEPS):
    docks, around, demand = trips()
    with tf.GradientTape() as tape:
        features = tf.concat([waves(docks), table(docks), around], axis=1)
        loss = tf.reduce_mean(tf.square(model(features, training=True) - demand))
    weights = [*model.trainable_variables, table.rows]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
