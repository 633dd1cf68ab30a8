"""Training programs of realistic size, for what they do with memory.

`python -m bench.large NAME BATCH [STEPS]`; the Transformer also takes the length of its sequence.
Each takes some hundred megabytes, most of which grow with the batch.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tensorflow as tf

from bench.models import Transformer

STEPS = 3


def mlp(batch: int, steps: int = STEPS) -> None:
    """Wide dense layers under Adam: mostly weights and optimizer state."""
    dense = tf.keras.layers.Dense
    _fit([dense(4096, "relu"), dense(2048, "relu"), dense(2048, "relu")], (1024,), batch, steps)


def cnn(batch: int, steps: int = STEPS) -> None:
    """Convolutions on pictures: mostly activations and their gradients."""
    layers: list[Any] = []
    for width in (32, 64, 96):
        layers += [tf.keras.layers.Conv2D(width, 3, padding="same", activation="relu") for _ in range(2)]
        layers.append(tf.keras.layers.MaxPool2D())
    _fit([*layers, tf.keras.layers.GlobalAveragePooling2D()], (64, 64, 3), batch, steps)


def transformer(batch: int, steps: int = STEPS, sequence: int = 256) -> None:
    """A decoder with hand-written momentum, its step one function."""
    model = Transformer(layers=4, width=256, heads=8, sequence=sequence, batch=batch, vocabulary=4000)
    for _ in range(steps):
        model.step()


def _fit(layers: list[Any], shape: tuple[int, ...], batch: int, steps: int) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(batch * steps, *shape)).astype(np.float32)
    y = random.integers(10, size=batch * steps)
    model = tf.keras.Sequential([tf.keras.Input(shape), *layers, tf.keras.layers.Dense(10)])
    model.compile(tf.keras.optimizers.Adam(1e-3), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=batch, epochs=1, verbose=0)


if __name__ == "__main__":
    globals()[sys.argv[1]](*map(int, sys.argv[2:]))
