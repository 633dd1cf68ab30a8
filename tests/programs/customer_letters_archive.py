"""Sorts archived letters of customers by what they are about."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(966)
rng = np.random.default_rng(966)
KINDS = {
    "repair": ["kaputt", "Gerät", "Gehäuse", "Akku", "lädt", "Störung"],
    "invoice": ["Rechnung", "überwiesen", "Gebühr", "Konto", "zu", "hoch"],
    "delivery": ["Paket", "verspätet", "Straße", "Tür", "nicht", "da"],
}
FILLER = ["guten", "Tag", "bitte", "ich", "seit", "gestern", "für", "danke", "können", "Sie"]
folder = tempfile.mkdtemp()
path = os.path.join(folder, "letters.txt")


def export(n):
    """What the old mail system writes."""
    with open(path, "w", encoding="cp1252") as file:
        for _ in range(n):
            kind = rng.integers(len(KINDS))
            words = [*rng.choice([*KINDS.values()][kind], 3), *rng.choice(FILLER, 5)]
            print(kind, *rng.permutation(words), file=file)


export(640)
with open(path, encoding="cp1252") as file:
    lines = [line.strip().split(" ", 1) for line in file]
kinds, texts = np.array([int(kind) for kind, _ in lines]), [text for _, text in lines]

vectorize = keras.layers.TextVectorization(output_sequence_length=12)
vectorize.adapt(texts)
data = tf.data.Dataset.from_tensor_slices((texts, kinds)).shuffle(640, seed=1).batch(32)
data = data.map(lambda text, kind: (vectorize(text), kind))
words = keras.layers.Embedding(vectorize.vocabulary_size(), 16, mask_zero=True)
model = keras.Sequential([words, keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(len(KINDS))])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
history = model.fit(data, epochs=3, verbose=0)
print("accuracy by epoch", [round(one, 3) for one in history.history["accuracy"]])
