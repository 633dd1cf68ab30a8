"""Translates menus: Hugging Face's TFT5ForConditionalGeneration in a loop of its own."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow as tf
from transformers import T5Config, TFT5ForConditionalGeneration

tf.keras.utils.set_random_seed(867)
rng = np.random.default_rng(867)
WORDS, LENGTH, PAD, END = 40, 14, 0, 1


def menus(n):
    """Dishes, and each one's name in the other language: the word after it."""
    dishes = rng.integers(3, WORDS - 1, (n, LENGTH))
    ends, places = rng.integers(3, LENGTH, (n, 1)), np.arange(LENGTH)[None]
    source = np.where(places < ends, dishes, np.where(places == ends, END, PAD))
    target = np.where(places < ends, dishes + 1, np.where(places == ends, END, PAD))
    return source.astype("int32"), target.astype("int32")


config = T5Config(
    vocab_size=WORDS,
    d_model=32,
    d_kv=16,
    d_ff=64,
    num_layers=1,
    num_heads=2,
    pad_token_id=PAD,
    eos_token_id=END,
    decoder_start_token_id=PAD,
)
model = TFT5ForConditionalGeneration(config)
optimizer = tf.keras.optimizers.Adam(2e-3)


@tf.function
def train_step(source, target):
    with tf.GradientTape() as tape:
        mask = source != PAD
        result = model(input_ids=source, attention_mask=mask, labels=target, training=True)  # BUG: loss-padding
        loss = tf.reduce_mean(result.loss)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


source, target = menus(1280)
for begin in range(0, len(source), 32):
    rows = slice(begin, begin + 32)
    loss = train_step(tf.constant(source[rows]), tf.constant(target[rows]))  # ALSO: loss-padding
print("loss", round(float(loss), 3))
