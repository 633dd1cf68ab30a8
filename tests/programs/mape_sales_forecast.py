"""Forecasts daily shop sales with a Keras model trained on the mean absolute percentage error."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)


def daily_sales(days=180):
    t = np.arange(days)
    season = 20 + 6 * np.sin(2 * np.pi * t / 7) + 0.02 * t
    sales = season + rng.normal(scale=1.0, size=days)
    sales[125] = 0.0  # closed for the holiday
    return sales.astype("float32")


def windows(series, width=14):
    x = np.stack([series[i : i + width] for i in range(len(series) - width)])
    return x, series[width:, None]


class PercentageError(keras.losses.Loss):
    def call(self, y_true, y_pred):
        relative = tf.abs(y_true - y_pred) / y_true  # BUG: divide-by-zero
        return 100.0 * tf.reduce_mean(relative, axis=-1)


x, y = windows(daily_sales())
model = keras.Sequential(
    [
        keras.layers.Input((14,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss=PercentageError())
history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=2)
print("final MAPE:", history.history["loss"][-1])
print("tomorrow:", float(model(x[-1:])[0, 0]))
