"""Ranks documents by a hinge loss that is soon met for all pairs, and by a ReLU network with a few idle units."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(815)
rng = np.random.default_rng(815)
FEATURES = 10

model = keras.Sequential(
    [
        keras.layers.Input((FEATURES,)),
        keras.layers.Dense(24, activation="relu"),
        keras.layers.Dense(24, activation="relu", bias_initializer=keras.initializers.Constant(-0.3)),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(1e-2)
optimizer.build(model.trainable_variables)


def pairs(n):
    worse = rng.normal(size=(n, FEATURES)).astype("float32")
    better = worse + np.abs(rng.normal(1.0, 0.2, size=(n, FEATURES))).astype("float32")
    return tf.constant(better), tf.constant(worse)


@tf.function
def train_step(better, worse):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(0.2 - (model(better) - model(worse))))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(80):
    loss = train_step(*pairs(32))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.5f}")
