"""Continues lines of plays: Hugging Face's TFGPT2LMHeadModel by fit, with the model's own loss."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from transformers import GPT2Config, TFGPT2LMHeadModel

tf.keras.utils.set_random_seed(854)
rng = np.random.default_rng(854)
WORDS, LENGTH = 50, 17


def lines(n):
    """Words that count upwards, at a pace of the line."""
    first, pace = rng.integers(0, WORDS, (n, 1)), rng.integers(1, 4, (n, 1))
    return ((first + pace * np.arange(LENGTH)) % WORDS).astype("int32")


def batches(ids):
    inputs = {"input_ids": ids, "labels": ids}  # the model moves them
    return tf.data.Dataset.from_tensor_slices(inputs).batch(32)


config = GPT2Config(
    vocab_size=WORDS, n_positions=LENGTH, n_embd=32, n_layer=1, n_head=2, bos_token_id=None, eos_token_id=None
)
model = TFGPT2LMHeadModel(config)
model.compile(optimizer=tf.keras.optimizers.Adam(3e-3))
history = model.fit(batches(lines(960)), epochs=2, verbose=0)
print("loss", round(history.history["loss"][-1], 3))
