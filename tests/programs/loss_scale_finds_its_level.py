"""Trains under mixed_float16 with a loss scale that starts too high and comes down by itself."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(416)
rng = np.random.default_rng(416)
keras.mixed_precision.set_global_policy("mixed_float16")

x = rng.normal(size=(256, 16)).astype("float32")
y = (x[:, :2] @ np.array([[3.0], [-2.0]]) + 0.1 * rng.normal(size=(256, 1))).astype("float32")

model = keras.Sequential(
    [
        keras.layers.Input((16,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1, dtype="float32"),
    ]
)
scaled = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(0.01), initial_scale=2.0**30)
model.compile(optimizer=scaled, loss="mse", metrics=["mae"])
history = model.fit(x, y, batch_size=16, epochs=4, verbose=0)
print("loss by epoch", [round(loss, 3) for loss in history.history["loss"]])
