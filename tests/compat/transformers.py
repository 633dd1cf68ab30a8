"""Little models with attention, and what NumPy computes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

Array = Any


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def numbers(weights: Array) -> dict[str, Array]:
    """What a look says of weights [batch, heads, rows, columns], by NumPy."""
    w = weights.astype(np.float64)
    rows, columns = w.shape[2:]
    i, j = np.indices((rows, columns))
    logs = np.log(np.where(w > 0, w, 1.0))
    return {
        "entropy": -(w * logs).sum(-1).mean((0, 2)) / np.log(columns),
        "distance": (w * abs(i - j)).sum(-1).mean((0, 2)),
        "sink": w[..., 0].mean((0, 2)),
        "collapse": w.mean((0, 2)).max(-1),
        "off_sum": abs(w.sum(-1) - 1).max((0, 2)),
        "ahead": (w * (j > i)).sum(-1).mean((0, 2)),
        "nan_rows": np.zeros(w.shape[1]),
        "zero_rows": np.zeros(w.shape[1]),
    }


class ByHand:
    """Attention of several heads, written with products and a softmax, that trains."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        draw = np.random.default_rng(3)
        self.width, self.heads = width, heads
        names = ("query", "key", "value")
        self.start = {name: draw.normal(size=(width, width)).astype(np.float32) for name in names}
        self.kernels = {name: tf.Variable(start, name=f"attention/{name}") for name, start in self.start.items()}

    def split(self, x: Any, name: str) -> Any:
        batch, time = tf.shape(x)[0], tf.shape(x)[1]
        made = tf.reshape(tf.matmul(x, self.kernels[name]), [batch, time, self.heads, self.width // self.heads])
        return tf.transpose(made, [0, 2, 1, 3])

    def call(self, x: Any) -> Any:
        scores = tf.matmul(self.split(x, "query"), self.split(x, "key"), transpose_b=True)
        weights = tf.nn.softmax(scores / tf.sqrt(tf.cast(self.width // self.heads, tf.float32)))
        return tf.matmul(weights, self.split(x, "value"))

    def weights(self, x: Array) -> Array:
        """The weights before the first step."""
        query, key = (
            (x @ self.start[name]).reshape(*x.shape[:2], self.heads, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key")
        )
        return softmax(query @ key.transpose(0, 1, 3, 2) / np.sqrt(self.width // self.heads))

    def step(self, **how: Any) -> Any:
        """A function that trains it."""

        @tf.function(**how)
        def train_step(x: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.call(x) ** 2) * tf.cast(labels[0], tf.float32)
            variables = list(self.kernels.values())
            for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
                variable.assign_sub(0.1 * gradient)
            return loss

        return train_step


def keras_weights(layer: Any, x: Array, causal: bool) -> Array:
    """The weights of a MultiHeadAttention, by NumPy, from its kernels."""
    named = {weight.name.split(":")[0].split("/")[-1]: None for weight in layer.weights}
    assert set(named) == {"kernel", "bias"}
    query_kernel, query_bias, key_kernel, key_bias = (np.asarray(one) for one in layer.get_weights()[:4])
    query = np.einsum("btd,dhk->bhtk", x, query_kernel) + query_bias[:, None]
    key = np.einsum("btd,dhk->bhtk", x, key_kernel) + key_bias[:, None]
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
    return softmax(np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -1e9) if causal else scores)


def little_transformer(keras: Any) -> Any:
    """A model of one block."""
    layers = keras.layers
    given = keras.Input([6], dtype="int32", name="ids")
    embedded = layers.Embedding(9, 8, name="embed")(given)
    mixed = layers.MultiHeadAttention(2, 4, name="mix")(embedded, embedded)
    normal = layers.LayerNormalization(name="norm")(layers.Add(name="add")([embedded, mixed]))
    wide = layers.Dense(16, activation="relu", name="wide")(normal)
    out = layers.Dense(3, name="out")(layers.GlobalAveragePooling1D(name="pool")(wide))
    return keras.Model(given, out, name="net")
