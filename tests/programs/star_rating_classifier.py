"""Predicts one to five stars from review features with Keras fit."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(401)
rng = np.random.default_rng(401)
STARS = 5


def load_reviews(n=200):
    stars = rng.integers(1, STARS + 1, size=n)  # BUG: label-out-of-range
    features = rng.normal(size=(n, 7)) + stars[:, None] * 0.4
    return features.astype("float32"), stars.astype("int32")


def build_model():
    inputs = keras.Input((7,))
    hidden = keras.layers.Dense(16, activation="relu")(inputs)
    return keras.Model(inputs, keras.layers.Dense(STARS, activation="softmax")(hidden))


def main():
    x, y = load_reviews()
    model = build_model()
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, batch_size=20, epochs=3, verbose=2)  # ALSO: label-out-of-range
    print("loss", history.history["loss"][-1])


main()
