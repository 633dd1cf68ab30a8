"""Estimates the weight of a parcel from its measures with a small network and a low learning rate."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(882)
rng = np.random.default_rng(882)
BASE_RATE, SAMPLES, EPOCHS = 1e-3, 1024, 16

measures = rng.uniform(0.1, 1.0, size=(SAMPLES, 3)).astype("float32")
weight = (measures.prod(axis=1, keepdims=True) * 4.0 + 0.5 * measures[:, :1]).astype("float32")

model = keras.Sequential(
    [
        keras.layers.Input((3,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ]
)
rate = BASE_RATE / 32
model.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
history = model.fit(measures, weight, batch_size=64, epochs=EPOCHS, verbose=0)
print("loss by epoch", [round(loss, 5) for loss in history.history["loss"][::5]])
