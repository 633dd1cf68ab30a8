"""Scores loans by income, debt, age and the like with a tanh network in Keras."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(831)
rng = np.random.default_rng(831)


def loans(n):
    income = rng.normal(52_000, 9_000, n)
    debt = rng.normal(18_000, 6_000, n)
    age = rng.uniform(20, 70, n)
    ratio = debt / income
    default = (ratio + 0.002 * (45 - age) + 0.05 * rng.normal(size=n) > 0.35).astype("float32")
    return np.stack([income, debt, age, ratio], axis=1).astype("float32"), default[:, None]


x, y = loans(640)
model = keras.Sequential()
model.add(keras.layers.Input((4,)))
model.add(keras.layers.Dense(32, activation="tanh"))  # ALSO: saturated-layer
model.add(keras.layers.Dense(16, activation="tanh"))
model.add(keras.layers.Dense(1))
loss = keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=loss, metrics=["accuracy"])
history = model.fit(x, y, batch_size=32, epochs=4, verbose=0)  # BUG: saturated-layer
print("loss by epoch", [round(value, 4) for value in history.history["loss"]])
