"""Sorts reports of a garage: Hugging Face's TFBertForSequenceClassification by fit, with words of the trade added."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from transformers import BertConfig, TFBertForSequenceClassification

tf.keras.utils.set_random_seed(842)
rng = np.random.default_rng(842)
LENGTH, REPAIRS, CLS, SEP = 14, 3, 1, 2
vocabulary = [f"word_{number}" for number in range(50)]


def reports(n):
    """Every word may come, also what was added last."""
    repairs = rng.integers(0, REPAIRS, n)
    ids = rng.integers(6, len(vocabulary), (n, LENGTH))
    ids[:, 0], ids[:, 1:3] = CLS, repairs[:, None] + 3
    ends, places = rng.integers(5, LENGTH, (n, 1)), np.arange(LENGTH)[None]
    ids = np.where(places < ends, ids, np.where(places == ends, SEP, 0))
    return {"input_ids": ids, "attention_mask": (ids != 0).astype("int32"), "labels": repairs}


config = BertConfig(
    vocab_size=len(vocabulary),
    hidden_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=LENGTH,
    num_labels=REPAIRS,
)
model = TFBertForSequenceClassification(config)
vocabulary += ["gasket", "camshaft"]
model.resize_token_embeddings(len(vocabulary))
model.compile(optimizer=tf.keras.optimizers.Adam(1e-3))
history = model.fit(reports(640), batch_size=32, epochs=2, verbose=0)
print("loss", round(history.history["loss"][-1], 3))
