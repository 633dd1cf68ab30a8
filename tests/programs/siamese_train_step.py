"""Trains a siamese network on pairs of product photos, with a train_step of its own."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(413)
rng = np.random.default_rng(413)
MARGIN = 1.0


def distance(a, b):
    return tf.sqrt(tf.reduce_sum(tf.square(a - b), axis=-1))  # BUG: grad-sqrt-zero


class Siamese(keras.Model):
    def __init__(self, tower, **kwargs):
        super().__init__(**kwargs)
        self.tower = tower
        self.tracker = keras.metrics.Mean(name="contrastive")

    def call(self, pair):
        left, right = pair
        return distance(self.tower(left), self.tower(right))

    @property
    def metrics(self):
        return [self.tracker]

    def train_step(self, data):
        pair, same = data
        with tf.GradientTape() as tape:
            apart = self(pair, training=True)
            pull = same * tf.square(apart)
            push = (1.0 - same) * tf.square(tf.maximum(MARGIN - apart, 0.0))
            loss = tf.reduce_mean(pull + push)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.tracker.update_state(loss)
        return {"contrastive": self.tracker.result()}


left = rng.normal(size=(128, 10)).astype("float32")
same = rng.integers(0, 2, size=128).astype("float32")
noise = rng.normal(size=left.shape).astype("float32")
right = np.where(same[:, None] == 1, left + 0.1 * noise, noise)
right[90], same[90] = left[90], 0.0  # one photo, listed as two products

tower = keras.Sequential([keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(4)], name="tower")
model = Siamese(tower, name="siamese")
model.compile(optimizer=keras.optimizers.Adam(0.01))
history = model.fit((left, right), same, batch_size=16, epochs=2, shuffle=False, verbose=0)
print(history.history)
