"""Trains a small network with a hand-written exponential linear unit."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(29)
rng = np.random.default_rng(29)
ALPHA = 1.0


def scaled_elu(x):
    negative = ALPHA * (tf.exp(x) - 1.0)  # ALSO: where-trap
    return 1.05 * tf.where(x >= 0.0, x, negative)  # BUG: where-trap


def load_measurements(n=160):
    x = rng.normal(size=(n, 5)).astype("float32")
    x[97, 2] = 700.0  # millivolts instead of volts
    y = (x[:, :1] > 0).astype("float32")
    return x, y


class Block(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = keras.layers.Dense(units)

    def call(self, inputs):
        return scaled_elu(self.dense(inputs))


model = keras.Sequential(
    [
        keras.layers.Input((5,)),
        Block(16),
        Block(8),
        keras.layers.Dense(1),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(0.001),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
)


class Report(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print(f"batch {batch} loss {logs['loss']:.4f}")


x, y = load_measurements()
model.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0, callbacks=[Report()])
print("logit of the first row:", float(model(x[:1])[0, 0]))
