"""Predicts taxi fares from three features with a small network."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
rides = rng.normal(size=(512, 3)).astype(np.float32)
fares = (rides @ np.array([2.0, -1.0, 0.5], np.float32) + 3.0).astype(np.float32)
model = keras.Sequential([keras.Input([3]), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam(0.01)


@tf.function
def train_step(batch, target):
    with tf.GradientTape() as tape:
        predicted = model(batch, training=True)
        loss = tf.reduce_mean(tf.square(target - predicted))  # BUG: accidental-broadcast
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


for batch, target in tf.data.Dataset.from_tensor_slices((rides, fares)).batch(32).repeat(3):
    loss = train_step(batch, target)
print(f"loss {float(loss):.4f}")
