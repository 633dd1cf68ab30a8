"""Builds an MLP with a home-made fan-based initialiser and trains it."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(191)
tf.random.set_seed(191)


def fan_init(fan_in, fan_out):
    with np.errstate(invalid="ignore"):
        limit = np.sqrt(6.0 / (fan_in - fan_out))  # BUG: nan-initial-value
    return tf.random.uniform([fan_in, fan_out], -1.0, 1.0) * tf.cast(limit, tf.float32)  # ALSO: nan-initial-value


class MLP(tf.Module):
    def __init__(self, sizes):
        super().__init__()
        self.weights = []
        self.biases = []
        for fan_in, fan_out in zip(sizes[:-1], sizes[1:]):
            self.weights.append(tf.Variable(fan_init(fan_in, fan_out)))  # ALSO: nan-initial-value
            self.biases.append(tf.Variable(tf.zeros([fan_out])))

    def __call__(self, x):
        for w, b in zip(self.weights[:-1], self.biases[:-1]):
            x = tf.nn.tanh(x @ w + b)
        return x @ self.weights[-1] + self.biases[-1]


x = tf.constant(rng.normal(size=(64, 16)), tf.float32)
y = tf.reduce_sum(x[:, :3], axis=1, keepdims=True)
model = MLP([16, 8, 12, 1])
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for step in range(4):
    print(f"step {step} loss {train_step().numpy():.4f}")
