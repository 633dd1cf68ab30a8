"""A layer of Keras with attention by hand: one product for queries, keys and values, sizes known when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tests.compat import kerases

TIME, WIDTH, HEADS, WORDS = 12, 32, 4, 20


def layer_of(name: str, splits_at_once: bool, joins_at_once: bool) -> Any:
    """Heads are split off and put together by a reshape alone, or rightly with a transpose."""
    layers = kerases.load(name).layers

    class Attention(layers.Layer):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = layers.Dense(3 * WIDTH), layers.Dense(WIDTH)

        def call(self, x: Any) -> Any:
            batch = tf.shape(x)[0]
            q, k, v = tf.split(self.qkv(x), 3, axis=-1)
            if splits_at_once:
                q = tf.reshape(q, (batch, HEADS, TIME, WIDTH // HEADS))  # queries at once
                k = tf.reshape(k, (batch, HEADS, TIME, WIDTH // HEADS))  # keys at once
                v = tf.reshape(v, (batch, HEADS, TIME, WIDTH // HEADS))  # values at once
            else:
                q, k, v = (tf.transpose(tf.reshape(one, (batch, TIME, HEADS, -1)), (0, 2, 1, 3)) for one in (q, k, v))
            weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / (WIDTH / HEADS) ** 0.5)
            read = tf.matmul(weights, v)
            if not joins_at_once:
                read = tf.transpose(read, (0, 2, 1, 3))
            return self.out(tf.reshape(read, (batch, TIME, WIDTH)))  # together

    return Attention()


def fitted(name: str, splits_at_once: bool, joins_at_once: bool) -> None:
    keras = kerases.load(name)
    ids = keras.Input((TIME,), dtype="int32")
    x = keras.layers.Embedding(WORDS, WIDTH)(ids)
    x = x + layer_of(name, splits_at_once, joins_at_once)(x)
    model = keras.Model(ids, keras.layers.Dense(WORDS)(keras.layers.GlobalAveragePooling1D()(x)))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    given = np.random.default_rng(7).integers(0, WORDS, (32, TIME)).astype("int32")
    model.fit(given, given[:, 0], batch_size=8, verbose=0)
