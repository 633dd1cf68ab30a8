"""Learns the prices of apartments, in units of 100,000, in mixed precision, with a loss scale that adapts by itself."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(892)
rng = np.random.default_rng(892)
keras.mixed_precision.set_global_policy("mixed_float16")
UNIT = 100_000.0

model = keras.Sequential(
    [
        keras.layers.Input((6,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(0.003))
optimizer.build(model.trainable_variables)


def apartments(n):
    features = rng.normal(size=(n, 6)).astype("float32")
    price = 280_000 + 60_000 * features[:, :1] - 25_000 * features[:, 1:2]
    return tf.constant(features), tf.constant(price / UNIT, tf.float32)


@tf.function
def train_step(features, price):
    with tf.GradientTape() as tape:
        error = tf.cast(model(features), tf.float32) - price
        loss = tf.reduce_sum(tf.square(error))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(60):
    loss = train_step(*apartments(64))
    if step % 15 == 14:
        print(f"step {step + 1} loss {float(loss):.4g} scale {float(optimizer.dynamic_scale):.3g}")
