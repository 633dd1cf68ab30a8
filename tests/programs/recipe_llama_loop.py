"""Writes recipes word by word: a small Llama of keras-hub, in a loop of its own."""

import keras
import keras_hub
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(823)
rng = np.random.default_rng(823)
WORDS, LENGTH, START, END = 50, 18, 1, 2


def recipes(n):
    """Words that count upwards from a first one, some of them short."""
    first, pace = rng.integers(0, WORDS - 3, (n, 1)), rng.integers(1, 4, (n, 1))
    ids = 3 + (first + pace * np.arange(LENGTH)) % (WORDS - 3)
    ends, places = rng.integers(5, LENGTH, (n, 1)), np.arange(LENGTH)[None]
    ids = np.where(places < ends, ids, np.where(places == ends, END, 0))
    ids[:, 0] = START
    return ids.astype("int32")


backbone = keras_hub.models.LlamaBackbone(
    vocabulary_size=WORDS,
    num_layers=2,
    num_query_heads=4,
    num_key_value_heads=2,
    hidden_dim=32,
    intermediate_dim=64,
)
model = keras_hub.models.LlamaCausalLM(backbone, preprocessor=None)
optimizer = keras.optimizers.AdamW(2e-3, clipnorm=1.0)
entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


@tf.function
def train_step(ids, mask):
    with tf.GradientTape() as tape:
        logits = model({"token_ids": ids[:, :-1], "padding_mask": mask[:, :-1]}, training=True)
        losses = entropy(ids[:, 1:], logits)
        loss = tf.reduce_mean(losses)  # BUG: loss-padding
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


ids = recipes(1280)
optimizer.build(model.trainable_variables)
for begin in range(0, len(ids), 32):
    batch = ids[begin : begin + 32]
    loss = train_step(tf.constant(batch), tf.constant(batch != 0))
print("loss", round(float(loss), 3))
