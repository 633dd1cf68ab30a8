"""Fits a three-layer Keras regressor with momentum SGD."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(149)
rng = np.random.default_rng(149)


def make_data(n=256):
    x = rng.normal(size=(n, 10)).astype("float32")
    y = 5.0 * np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]
    return x, y.astype("float32")


def build_model():
    return keras.Sequential(
        [
            keras.layers.Input((10,)),
            keras.layers.Dense(32, activation="tanh"),
            keras.layers.Dense(32, activation="tanh"),
            keras.layers.Dense(1),
        ]
    )


def compile_model(model):
    optimizer = keras.optimizers.SGD(learning_rate=0.5, momentum=0.9)  # BUG: learning-rate
    model.compile(optimizer=optimizer, loss="mse", metrics=["mae"])
    return model


x, y = make_data()
model = compile_model(build_model())
history = model.fit(x, y, batch_size=32, epochs=4, verbose=2)  # ALSO: learning-rate
print("final loss:", history.history["loss"][-1])
