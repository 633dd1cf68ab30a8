"""Sorts letters to the support by urgency: a small BERT of keras-hub with a classifier on top, by fit."""

import keras
import keras_hub
import numpy as np

keras.utils.set_random_seed(811)
rng = np.random.default_rng(811)
WORDS, LENGTH, TEAMS, CLS, SEP = 60, 16, 3, 1, 2


def letters(n):
    """[CLS] words [SEP] and padding; three words tell the team."""
    teams = rng.integers(0, TEAMS, n)
    ids = rng.integers(10, WORDS, (n, LENGTH))
    ids[:, 0], ids[:, 1:4] = CLS, teams[:, None] + 3
    ends = rng.integers(6, LENGTH, (n, 1))
    places = np.arange(LENGTH)[None]
    ids = np.where(places < ends, ids, np.where(places == ends, SEP, 0))
    return ids.astype("int32"), teams


def features(ids):
    return {
        "token_ids": ids,
        "segment_ids": np.zeros_like(ids),
        "padding_mask": ids != 0,
    }


backbone = keras_hub.models.BertBackbone(
    vocabulary_size=WORDS, num_layers=1, num_heads=2, hidden_dim=32, intermediate_dim=64, max_sequence_length=LENGTH
)
model = keras_hub.models.BertTextClassifier(backbone, num_classes=TEAMS, preprocessor=None)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.AdamW(1e-3), loss, metrics=["accuracy"], jit_compile=False)
ids, teams = letters(640)
history = model.fit(features(ids), teams, batch_size=32, epochs=2, verbose=0)
print("accuracy", round(history.history["accuracy"][-1], 3))
