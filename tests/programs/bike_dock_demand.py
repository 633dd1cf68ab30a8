"""Demand at bike docks by dock, hour and weather: a table of docks beside a Keras model, trained in a plain loop."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(4012)
rng = np.random.default_rng(4012)
DOCKS, WIDTH, BATCH, STEPS = 30, 8, 64, 60
LEVEL = rng.normal(0.0, 1.0, DOCKS)


class DockTable:
    """What is known of each dock; shared with the map that draws them."""

    def __init__(self):
        self.rows = tf.Variable(tf.random.normal((DOCKS, WIDTH), stddev=0.3), name="dock_rows")

    def __call__(self, docks):
        return tf.nn.embedding_lookup(self.rows, docks)


def trips():
    docks, hours, rain = rng.integers(0, DOCKS, BATCH), rng.uniform(0, 24, BATCH), rng.random(BATCH)
    demand = LEVEL[docks] + np.sin(hours / 24 * 2 * np.pi) - 1.5 * rain + rng.normal(0, 0.1, BATCH)
    around = np.stack([np.sin(hours / 24 * 2 * np.pi), np.cos(hours / 24 * 2 * np.pi), rain], 1)
    return docks.astype("int32"), around.astype("float32"), demand[:, None].astype("float32")


table = DockTable()
model = keras.Sequential([keras.Input((WIDTH + 3,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(5e-3)

for step in range(STEPS):
    docks, around, demand = trips()
    with tf.GradientTape() as tape:
        features = tf.concat([table(docks), around], axis=1)  # ALSO: not-in-optimizer
        loss = tf.reduce_mean(tf.square(model(features, training=True) - demand))
    weights = model.trainable_variables  # BUG: not-in-optimizer
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))  # ALSO: not-in-optimizer
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
