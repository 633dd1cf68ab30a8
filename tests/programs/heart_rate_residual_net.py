"""Predicts a resting heart rate from a watch's signals with sigmoid layers that each add to what they get."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(832)
rng = np.random.default_rng(832)
SIGNALS, DEEP, RATE = 12, 14, 0.01

signals = keras.Input((SIGNALS,))
x = keras.layers.Dense(24)(signals)
for _ in range(DEEP):
    x = x + keras.layers.Dense(24, activation="sigmoid")(keras.layers.LayerNormalization()(x))
model = keras.Model(signals, keras.layers.Dense(1)(keras.layers.LayerNormalization()(x)))


def watches(n):
    signals = rng.normal(size=(n, SIGNALS)).astype("float32")
    rate = signals[:, :1] - 0.7 * signals[:, 1:2] * signals[:, 2:3]
    return tf.constant(signals), tf.constant(rate)


@tf.function
def train_step(signals, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(signals) - rate))
    gradients = tape.gradient(loss, model.trainable_variables)
    for variable, gradient in zip(model.trainable_variables, gradients):
        variable.assign(variable - RATE * gradient)
    return loss


for step in range(70):
    loss = train_step(*watches(64))
    if step % 35 == 34:
        print(f"step {step + 1} loss {float(loss):.4f}")
