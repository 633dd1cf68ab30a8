"""Forecasts rain with a network whose dropout stays on when it forecasts, many times over, for the spread."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(825)
rng = np.random.default_rng(825)
FEATURES, DRAWS = 6, 20

model = keras.Sequential(
    [
        keras.layers.Input((FEATURES,)),
        keras.layers.Dense(48, activation="gelu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(48, activation="gelu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")
x = rng.normal(size=(320, FEATURES)).astype("float32")
rain = (np.maximum(x[:, 0] + 0.5 * x[:, 1], 0) + 0.1 * rng.normal(size=320)).astype("float32")


@tf.function
def draw(x):
    return model(x, training=True)


tomorrow = tf.constant(rng.normal(size=(32, FEATURES)), tf.float32)
for epoch in range(2):
    history = model.fit(x, rain, batch_size=32, epochs=2, verbose=0)
    draws = np.stack([draw(tomorrow).numpy() for _ in range(DRAWS)])
    print(f"loss {history.history['loss'][-1]:.4f} spread {draws.std(axis=0).mean():.4f}")
