"""Trains in mixed precision with a loss scale that starts high and finds its level."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(337)
rng = np.random.default_rng(337)
keras.mixed_precision.set_global_policy("mixed_float16")

model = keras.Sequential(
    [
        keras.layers.Input((10,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, dtype="float32"),
    ]
)
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01), initial_scale=2.0**24)
optimizer.build(model.trainable_variables)


def make_batch():
    x = rng.normal(size=(32, 10)).astype("float32")
    return tf.constant(x), tf.constant(x[:, :1] + 0.5 * x[:, 1:2])


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        scaled = optimizer.scale_loss(loss)
    grads = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for step in range(40):
    loss = train_step(*make_batch())
    if step % 8 == 7:
        print(f"step {step + 1} loss {loss.numpy():.4f} scale {float(optimizer.dynamic_scale):.0f}")
print("weights finite:", all(bool(tf.reduce_all(tf.math.is_finite(w))) for w in model.trainable_variables))
