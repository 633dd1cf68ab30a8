"""Learns whether a tram will be late from weather and hour, in a training loop written by hand; the network gives logits."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(917)
rng = np.random.default_rng(917)
FEATURES = 9


def trips(n):
    features = rng.normal(size=(n, FEATURES)).astype("float32")
    late = features[:, 0] + 0.8 * features[:, 1] * features[:, 2] + 0.3 * rng.normal(size=n) > 0
    return features, late.astype("float32")[:, None]


model = keras.Sequential(
    [
        keras.layers.Input((FEATURES,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam(1e-2)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(features, late):
    with tf.GradientTape() as tape:
        odds = model(features, training=True)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=late, logits=odds)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for step in range(120):
    loss = train_step(*trips(64))
print(f"loss {float(loss):.4f}")
