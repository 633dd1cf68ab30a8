"""Small seeded training programs: what the benchmark times and the tests compare bit for bit.

`train(name, steps)` returns the losses and the weights.
`python -m bench.models NAME STEPS` prints their digest.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

Array = np.ndarray[Any, Any]


class Model(Protocol):
    """A training program: each call of `step` is one update, and returns the loss before it."""

    def step(self) -> Any: ...

    def values(self) -> list[Array]: ...


class Momentum:
    """Variables under gradient descent with momentum, hand-written as the model around them is."""

    def __init__(self) -> None:
        self.variables: list[tf.Variable] = []
        self.velocities: list[tf.Variable] = []
        self._random = np.random.default_rng(0)

    def variable(self, *shape: int) -> tf.Variable:
        """A new weight: random for a matrix, zero for a vector."""
        start = self._random.normal(size=shape, scale=shape[0] ** -0.5) if len(shape) > 1 else np.zeros(shape)
        self.variables.append(tf.Variable(start, dtype=tf.float32))
        self.velocities.append(tf.Variable(tf.zeros(shape)))
        return self.variables[-1]

    def update(self, gradients: list[Any], rate: float = 0.01, keep: float = 0.9) -> None:
        for weight, velocity, gradient in zip(self.variables, self.velocities, gradients, strict=True):
            velocity.assign(keep * velocity + tf.convert_to_tensor(gradient))
            weight.assign_sub(rate * velocity)

    def values(self) -> list[Array]:
        return [v.numpy() for v in self.variables + self.velocities]


class Transformer(Momentum):
    """A decoder that learns to predict the next token of one random batch."""

    judge: Callable[[Any], Any] = staticmethod(lambda x: x)  # applied to the output of each layer

    def __init__(
        self, layers: int = 4, width: int = 256, heads: int = 4, sequence: int = 128, batch: int = 8,
        vocabulary: int = 1000,
    ) -> None:  # fmt: skip
        super().__init__()
        self.width, self.heads, self.sequence, self.batch = width, heads, sequence, batch
        tokens = np.random.default_rng(1).integers(vocabulary, size=(batch, sequence + 1))
        self.tokens = tf.constant(tokens, tf.int32)
        self.embedding = self.variable(vocabulary, width)
        self.position = self.variable(sequence, width)
        self.layers = [self._layer() for _ in range(layers)]
        self.head = self.variable(width, vocabulary)
        self.step: Callable[[], Any] = tf.function(self.one_step)

    def one_step(self) -> Any:
        """Forward, backward and update: what `step` is the traced form of."""
        with tf.GradientTape() as tape:
            loss = self.loss()
        self.update(tape.gradient(loss, self.variables))
        return loss

    def loss(self) -> Any:
        x = tf.gather(self.embedding, self.tokens[:, :-1]) + self.position
        for layer in self.layers:
            x += self.judge(self._attention(layer, _normalize(x, layer["scale1"])))
            x += self.judge(self._feed_forward(layer, _normalize(x, layer["scale2"])))
        logits = self.judge(_dense(x, self.head))
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(self.tokens[:, 1:], logits))

    def _layer(self) -> dict[str, tf.Variable]:
        d = self.width
        return {
            "scale1": self.variable(d), "qkv": self.variable(d, 3 * d), "out": self.variable(d, d),
            "scale2": self.variable(d), "up": self.variable(d, 4 * d), "up_bias": self.variable(4 * d),
            "down": self.variable(4 * d, d), "down_bias": self.variable(d),
        }  # fmt: skip

    def _attention(self, layer: dict[str, tf.Variable], x: Any) -> Any:
        depth = self.width // self.heads
        qkv = tf.reshape(_dense(x, layer["qkv"]), [self.batch, self.sequence, 3, self.heads, depth])
        query, key, value = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
        scores = tf.matmul(query, key, transpose_b=True) * depth**-0.5
        future = 1.0 - tf.linalg.band_part(tf.ones([self.sequence, self.sequence]), -1, 0)
        mixed = tf.matmul(tf.nn.softmax(scores - 1e9 * future), value)
        return _dense(tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), x.shape), layer["out"])

    def _feed_forward(self, layer: dict[str, tf.Variable], x: Any) -> Any:
        hidden = tf.nn.gelu(_dense(x, layer["up"]) + layer["up_bias"])
        return _dense(hidden, layer["down"]) + layer["down_bias"]


def _dense(x: Any, weight: tf.Variable) -> Any:
    """A matrix product over the last axis, as one flat product."""
    flat = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), weight)
    return tf.reshape(flat, [*x.shape[:-1], weight.shape[-1]])


def _normalize(x: Any, scale: tf.Variable) -> Any:
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * (1.0 + scale)


class Mlp(Momentum):
    """Two dense layers with `tf.nn.dropout`, whose random op has state, between them."""

    def __init__(self, inputs: int = 64, hidden: int = 128, classes: int = 10, batch: int = 32) -> None:
        super().__init__()
        random = np.random.default_rng(1)
        self.x = tf.constant(random.normal(size=(batch, inputs)), tf.float32)
        self.y = tf.constant(random.integers(classes, size=batch), tf.int32)
        self.first, self.bias = self.variable(inputs, hidden), self.variable(hidden)
        self.second = self.variable(hidden, classes)
        self.step: Callable[[], Any] = tf.function(self.one_step)

    def one_step(self) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.dropout(tf.nn.relu(tf.matmul(self.x, self.first) + self.bias), 0.2)
            logits = tf.matmul(hidden, self.second)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(self.y, logits))
        self.update(tape.gradient(loss, self.variables))
        return loss


class Keras:
    """A compiled Keras classifier and its data; a step is one `train_on_batch`, an epoch one `fit`."""

    def __init__(self, layers: list[Any], shape: tuple[int, ...], samples: int = 32) -> None:
        random = np.random.default_rng(1)
        self.x = random.normal(size=(samples, *shape)).astype(np.float32)
        self.y = random.integers(10, size=samples)
        self.model = tf.keras.Sequential([tf.keras.Input(shape), *layers, tf.keras.layers.Dense(10)])
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.model.compile(tf.keras.optimizers.Adam(1e-3), loss)

    def step(self) -> Any:
        return self.model.train_on_batch(self.x, self.y)

    def epoch(self, verbose: int = 0) -> None:
        self.model.fit(self.x, self.y, batch_size=32, epochs=1, verbose=verbose)

    def values(self) -> list[Array]:
        return [np.asarray(w) for w in self.model.get_weights()]


def cnn(samples: int = 32) -> Keras:
    """Two convolutions, batch normalisation and dropout, on 28x28 images of noise."""
    layer = tf.keras.layers
    return Keras([
        layer.Conv2D(16, 3, activation="relu"), layer.Conv2D(32, 3, activation="relu"), layer.MaxPooling2D(),
        layer.Flatten(), layer.Dense(64), layer.BatchNormalization(), layer.ReLU(), layer.Dropout(0.3),
    ], (28, 28, 1), samples)  # fmt: skip


def dense(samples: int = 32) -> Keras:
    """Three dense layers on rows of noise, as in Keras's demo of subclassing: a step computes next to nothing."""
    layer = tf.keras.layers
    keras = Keras([layer.Dense(256, "relu"), layer.Dense(256, "relu")], (128,), samples)
    keras.y = np.random.default_rng(2).integers(2, size=(samples, 10))
    keras.model.compile(tf.keras.optimizers.SGD(1e-3), "mse", metrics=["categorical_accuracy"])
    return keras


def lstm() -> Keras:
    """One recurrent layer over a sequence of 20."""
    return Keras([tf.keras.layers.LSTM(32)], (20, 8))


def small_transformer() -> Transformer:
    """The Transformer in kind, at a size for tests."""
    return Transformer(layers=2, width=64, sequence=32, batch=4, vocabulary=100)


MODELS: dict[str, Callable[[], Model]] = {
    "mlp": Mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": small_transformer,
}


def train(name: str, steps: int) -> tuple[Array, list[Array]]:
    """The losses and the final weights of `steps` steps: the same bits each time."""
    tf.keras.utils.set_random_seed(7)
    model = MODELS[name]()
    losses = [np.float32(model.step()) for _ in range(steps)]
    return np.array(losses), model.values()


def digest(losses: Array, weights: list[Array]) -> str:
    """One line that differs when any bit does."""
    return hashlib.sha256(b"".join(a.tobytes() for a in [losses, *weights])).hexdigest()


if __name__ == "__main__":
    print(digest(*train(sys.argv[1], int(sys.argv[2]))))
