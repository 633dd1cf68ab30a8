"""Tells genres of films by their plots: the head on a small Gemma of keras-hub, which stays as it is."""

import keras
import keras_hub
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(838)
rng = np.random.default_rng(838)
WORDS, LENGTH, GENRES = 60, 16, 4


def plots(n):
    """Words, then padding; the second to the fourth tell the genre."""
    genres = rng.integers(0, GENRES, n)
    ids = rng.integers(8, WORDS, (n, LENGTH))
    ids[:, 1:4] = genres[:, None] + 3
    ids[np.arange(LENGTH)[None] >= rng.integers(5, LENGTH + 1, (n, 1))] = 0
    return ids.astype("int32"), genres.astype("int32")


class Genres(keras.Model):
    def __init__(self):
        super().__init__()
        self.gemma = keras_hub.models.GemmaBackbone(
            vocabulary_size=WORDS,
            num_layers=2,
            num_query_heads=2,
            num_key_value_heads=1,
            hidden_dim=32,
            intermediate_dim=64,
            head_dim=16,
        )
        self.head = keras.layers.Dense(GENRES, name="genre_head")

    def call(self, ids, training=None):
        mask = ids != 0
        states = self.gemma({"token_ids": ids, "padding_mask": mask}, training=training)
        weights = keras.ops.cast(mask, "float32")[..., None]
        pooled = keras.ops.sum(states * weights, axis=1) / keras.ops.sum(weights, axis=1)
        return self.head(pooled)


model = Genres()
model.gemma.trainable = False
optimizer = keras.optimizers.Adam(1e-3)
entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(ids, genres):
    with tf.GradientTape() as tape:
        loss = entropy(genres, model(ids, training=True))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    return loss


ids, genres = plots(960)
model(ids[:1])
optimizer.build(model.trainable_variables)
for begin in range(0, len(ids), 32):
    loss = train_step(tf.constant(ids[begin : begin + 32]), tf.constant(genres[begin : begin + 32]))
print("loss", round(float(loss), 3))
