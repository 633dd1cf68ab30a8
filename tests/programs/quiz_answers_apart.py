"""Tells which quiz an answer belongs to, and measures that on what it never saw."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(922)
rng = np.random.default_rng(922)
WORDS, LENGTH, WIDTH, QUIZZES = 60, 12, 24, 4


def answers(n):
    quiz = rng.integers(0, QUIZZES, n)
    ids = rng.integers(10, WORDS, (n, LENGTH))
    ids[:, 3] = np.where(rng.random(n) < 0.8, quiz + 2, ids[:, 3])
    return ids.astype("int32"), quiz.astype("int32")


ids, quiz = answers(320)
order = rng.permutation(len(ids))
train, held = order[:256], order[256:]

model = keras.Sequential(
    [
        keras.layers.Embedding(WORDS, WIDTH),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(QUIZZES),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-2), loss, metrics=["accuracy"])
held_out = (ids[held], quiz[held])
history = model.fit(ids[train], quiz[train], validation_data=held_out, epochs=4, verbose=0)
print("seen before", round(model.evaluate(ids[train], quiz[train], verbose=0)[1], 3))
print("accuracy", round(history.history["val_accuracy"][-1], 3), "with TensorFlow", tf.__version__)
