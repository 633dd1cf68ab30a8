"""Trains a gate layer whose routing entropy is added to the loss."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(61)
rng = np.random.default_rng(61)


def plogp(p):
    return tf.where(p > 0.0, p * tf.math.log(p), tf.zeros_like(p))  # BUG: where-trap


class SparseGate(keras.layers.Layer):
    """Hard-clipped gate: exact zeros switch an expert off."""

    def __init__(self, experts, penalty=0.05):
        super().__init__()
        self.score = keras.layers.Dense(experts, bias_initializer=keras.initializers.Constant(0.6))
        self.penalty = penalty

    def call(self, x):
        gate = tf.nn.relu(self.score(x))
        self.add_loss(-self.penalty * tf.reduce_mean(tf.reduce_sum(plogp(gate), axis=1)))
        return gate


class GatedModel(keras.Model):
    def __init__(self, experts=4):
        super().__init__()
        self.gate = SparseGate(experts)
        self.experts = keras.layers.Dense(experts)

    def call(self, x):
        return tf.reduce_sum(self.gate(x) * self.experts(x), axis=1, keepdims=True)


x = rng.normal(size=(128, 6)).astype("float32")
y = (x[:, :1] * x[:, 1:2]).astype("float32")
model = GatedModel()
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(x, y, batch_size=32, epochs=3, verbose=2)
print("losses", history.history["loss"])
