"""Fits the hourly demand for rental bikes to the weather with gradients that are clipped."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(872)
rng = np.random.default_rng(872)

demand = keras.layers.Dense(1)
optimizer = keras.optimizers.SGD(0.011, clipnorm=1.0)


def hours(n):
    temperature = rng.uniform(4, 16, size=(n, 1))
    wind = rng.uniform(0, 6, size=(n, 1))
    bikes = 8.0 * temperature - 3.0 * wind + rng.normal(size=(n, 1))
    return tf.constant(np.hstack([temperature, wind]), tf.float32), tf.constant(bikes, tf.float32)


@tf.function
def train_step(weather, bikes):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(demand(weather) - bikes))
    gradients = tape.gradient(loss, demand.trainable_variables)
    optimizer.apply_gradients(zip(gradients, demand.trainable_variables))
    return loss


demand(hours(2)[0])
optimizer.build(demand.trainable_variables)
for step in range(40):
    loss = train_step(*hours(64))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4g}")
