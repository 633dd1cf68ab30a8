"""Trains until the validation loss stops improving, with a hand-written early stopping."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(347)
rng = np.random.default_rng(347)

x = rng.normal(size=(120, 6)).astype("float32")
y = (x[:, :1] + 0.3 * rng.normal(size=(120, 1))).astype("float32")
train_x, train_y, val_x, val_y = x[:80], y[:80], x[80:], y[80:]

w1 = tf.Variable(tf.random.normal([6, 16], stddev=0.4))
w2 = tf.Variable(tf.random.normal([16, 1], stddev=0.4))
optimizer = tf.keras.optimizers.Adam(0.02)


def mse(features, target):
    return tf.reduce_mean(tf.square(tf.nn.tanh(features @ w1) @ w2 - target))


@tf.function
def train_epoch():
    with tf.GradientTape() as tape:
        loss = mse(train_x, train_y)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w1, w2]), [w1, w2]))
    return loss, mse(val_x, val_y)


best = tf.Variable(float("inf"))
patience, waited = 5, 0
for epoch in range(200):
    loss, validation = train_epoch()
    if validation < best:
        best.assign(validation)
        waited = 0
    else:
        waited += 1
    if waited >= patience:
        print("stopped after epoch", epoch)
        break
print(f"train {loss.numpy():.4f} best validation {best.numpy():.4f}")
