"""Tells cell types apart by the expression of some genes, with a small Keras network."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(911)
rng = np.random.default_rng(911)
GENES, TYPES = 20, 6


def cells(n):
    kind = rng.integers(0, TYPES, n)
    profiles = np.random.default_rng(4).normal(size=(TYPES, GENES))
    return (profiles[kind] + 0.7 * rng.normal(size=(n, GENES))).astype("float32"), kind


model = keras.Sequential(  # ALSO: logits-as-probabilities
    [
        keras.layers.Input((GENES,)),
        keras.layers.Dense(48, activation="relu"),
        keras.layers.Dense(TYPES),  # ALSO: logits-as-probabilities
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")  # BUG: logits-as-probabilities
expression, kind = cells(1024)
history = model.fit(expression, kind, batch_size=64, epochs=4, verbose=0)  # ALSO: logits-as-probabilities
print("loss by epoch", [round(loss, 4) for loss in history.history["loss"]])
