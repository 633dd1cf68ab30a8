"""Predicts the next value of noisy sine waves with a Keras LSTM on padded sequences."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(367)
rng = np.random.default_rng(367)
LENGTH = 12


def make_waves(n=128):
    phase = rng.uniform(0, 2 * np.pi, size=(n, 1))
    t = np.arange(LENGTH + 1)[None] * 0.4
    waves = np.sin(t + phase) + 1.5
    x, y = waves[:, :LENGTH].copy(), waves[:, LENGTH:]
    for row, size in zip(x, rng.integers(4, LENGTH + 1, size=n)):
        row[: LENGTH - size] = 0.0  # padded on the left
    return x[..., None].astype("float32"), y.astype("float32")


x, y = make_waves()
inputs = keras.Input((LENGTH, 1))
hidden = keras.layers.Masking(mask_value=0.0)(inputs)
hidden = keras.layers.LSTM(12)(hidden)
outputs = keras.layers.Dense(1)(hidden)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.01, clipnorm=1.0), loss="mse")
history = model.fit(x, y, batch_size=32, epochs=4, verbose=2)
print("first and last loss:", history.history["loss"][0], history.history["loss"][-1])
