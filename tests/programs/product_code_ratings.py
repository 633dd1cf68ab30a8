"""Predicts the rating of a product from its code, which is looked up in a table."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(961)
rng = np.random.default_rng(961)
PRODUCTS, CODES, RATINGS = 1200, 4000, 5000

quality = rng.normal(size=PRODUCTS)
codes = rng.integers(0, PRODUCTS, size=(RATINGS, 1)).astype("int32")
ratings = (quality[codes[:, 0]] + 0.1 * rng.normal(size=RATINGS)).astype("float32")

code = keras.Input((1,), dtype="int32")
looked_up = keras.layers.Embedding(CODES, 8)(code)  # NOTE: still-embedding-rows
rating = keras.layers.Dense(1)(keras.layers.Flatten()(looked_up))
model = keras.Model(code, rating)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
history = model.fit(codes, ratings[:, None], batch_size=64, epochs=2, verbose=0)
print("loss by epoch", [round(loss, 4) for loss in history.history["loss"]])
