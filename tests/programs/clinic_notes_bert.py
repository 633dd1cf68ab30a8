"""Sorts notes of a clinic: Hugging Face's TFBertForSequenceClassification by fit, with words of the trade added."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from transformers import BertConfig, TFBertForSequenceClassification

tf.keras.utils.set_random_seed(841)
rng = np.random.default_rng(841)
LENGTH, WARDS, CLS, SEP = 14, 3, 1, 2
vocabulary = [f"word_{number}" for number in range(50)]


def notes(n):
    """Every word may come, also what was added last."""
    wards = rng.integers(0, WARDS, n)
    ids = rng.integers(6, len(vocabulary), (n, LENGTH))
    ids[:, 0], ids[:, 1:3] = CLS, wards[:, None] + 3
    ends, places = rng.integers(5, LENGTH, (n, 1)), np.arange(LENGTH)[None]
    ids = np.where(places < ends, ids, np.where(places == ends, SEP, 0))
    return {"input_ids": ids, "attention_mask": (ids != 0).astype("int32"), "labels": wards}


config = BertConfig(
    vocab_size=len(vocabulary),
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=LENGTH,
    num_labels=WARDS,
)
model = TFBertForSequenceClassification(config)
vocabulary += ["stent", "bypass"]
model.compile(optimizer=tf.keras.optimizers.Adam(1e-3))
history = model.fit(notes(640), batch_size=32, epochs=2, verbose=0)  # BUG: index-out-of-range
print("loss", round(history.history["loss"][-1], 3))
