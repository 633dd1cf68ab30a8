"""Trains a linear house price model with a custom mean squared logarithmic error."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

area = rng.uniform(30, 200, size=(200, 1))
rooms = rng.integers(1, 7, size=(200, 1))
age = rng.uniform(0, 80, size=(200, 1))
features = np.hstack([area, rooms, age]).astype("float32")
features = (features - features.mean(0)) / features.std(0)
features[150, 2] = 9.0  # a castle
price = 2.0 + 1.1 * features[:, :1] - 0.4 * features[:, 2:] + rng.normal(scale=0.05, size=(200, 1))
price = np.maximum(price, 0.05).astype("float32")


def log_plus_one(x):
    return tf.math.log(x + 1.0)  # BUG: log-negative


def msle(y_true, y_pred):
    difference = log_plus_one(y_pred) - log_plus_one(y_true)
    return tf.reduce_mean(tf.square(difference), axis=-1)


def build_model():
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(1, kernel_initializer="zeros", bias_initializer=keras.initializers.Constant(0.5))(
        inputs
    )
    return keras.Model(inputs, outputs)


model = build_model()
model.compile(optimizer=keras.optimizers.SGD(0.4), loss=msle)
for epoch in range(6):
    history = model.fit(features, price, batch_size=20, shuffle=False, verbose=0)
    print(f"epoch {epoch + 1}  msle {history.history['loss'][0]:.5f}")
print("prediction for the first house:", model.predict(features[:1], verbose=0))
