"""Regresses house prices with a custom mixed-precision training loop."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(101)
rng = np.random.default_rng(101)
keras.mixed_precision.set_global_policy("mixed_float16")


def make_houses(n=96):
    x = rng.normal(size=(n, 5)).astype("float32")
    price = 45_000 + 3_000 * x[:, 0] + 1_500 * x[:, 1]
    price[60] = 91_500.0  # sea view
    return x, price.astype("float32")


model = keras.Sequential(
    [
        keras.layers.Input((5,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(0.01)


def absolute_error(price, prediction):
    target = tf.cast(price, prediction.dtype)  # BUG: half-overflow
    return tf.abs(target - prediction) / 1000.0


@tf.function
def train_step(x, price):
    with tf.GradientTape() as tape:
        prediction = tf.squeeze(model(x, training=True), axis=1)
        loss = tf.reduce_mean(tf.cast(absolute_error(price, prediction), tf.float32))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


x, price = make_houses()
dataset = tf.data.Dataset.from_tensor_slices((x, price)).batch(16)
for epoch in range(2):
    mean = keras.metrics.Mean()
    for xb, pb in dataset:
        mean.update_state(train_step(xb, pb))
    print(f"epoch {epoch} mean absolute error (thousands) {float(mean.result()):.3f}")
