"""Classifies Gaussian blobs with a Keras model with batch norm and dropout."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(353)
rng = np.random.default_rng(353)
CLASSES = 4


def make_blobs(n):
    centres = np.array([[2, 2], [-2, 2], [2, -2], [-2, -2]], dtype="float32")
    labels = rng.integers(0, CLASSES, size=n)
    return centres[labels] + rng.normal(scale=0.7, size=(n, 2)).astype("float32"), labels


def build():
    return keras.Sequential(
        [
            keras.layers.Input((2,)),
            keras.layers.Dense(32),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(CLASSES, activation="softmax"),
        ]
    )


x, y = make_blobs(320)
vx, vy = make_blobs(65)
model = build()
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, validation_data=(vx, vy), batch_size=32, epochs=4, verbose=2)
loss, accuracy = model.evaluate(vx, vy, verbose=0)
print(f"validation loss {loss:.4f} accuracy {accuracy:.3f}")
