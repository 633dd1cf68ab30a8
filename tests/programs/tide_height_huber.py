"""Predicts the height of the tide with a Huber loss written by hand."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
hours = rng.uniform(0, 24, (512, 6)).astype(np.float32)
heights = np.sin(hours[:, 0] / 2).astype(np.float32)

net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)


def huber(target, predicted, delta=1.0):
    error = tf.abs(target - predicted)  # BUG: accidental-broadcast
    small = tf.minimum(error, delta)
    return tf.reduce_mean(0.5 * small**2 + delta * (error - small))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = huber(y, net(x, training=True))
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
    return loss


dataset = tf.data.Dataset.from_tensor_slices((hours, heights)).batch(32).repeat(4)
for x, y in dataset:
    loss = train_step(x, y)
print(f"loss {float(loss):.3f}")
