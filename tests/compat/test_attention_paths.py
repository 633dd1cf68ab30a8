"""Whatever computes attention on this machine, its weights are seen, and are NumPy's: flash, fused, compiled, eager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.test_inside import agrees
from tests.compat.transformers import keras_weights, softmax

from tensorsleuth.trace.reader import Trace

X = np.random.default_rng(1).normal(size=(2, 7, 8)).astype(np.float32)
HEADED = X.reshape(2, 7, 2, 4)
BEHIND = np.where(np.tril(np.ones((7, 7))) > 0, 0.0, -1e9).astype(np.float32)
KERAS_3 = pytest.mark.skipif(not hasattr(tf.keras, "ops"), reason="Keras 2 has none")
WAYS: dict[str, Callable[[Any], Any]] = {
    "traced": tf.function,
    "compiled": tf.function(jit_compile=True),
    "eager": lambda call: call,
}


@pytest.fixture
def flash() -> Iterator[None]:
    """Keras is asked to use flash attention wherever it can."""
    tf.keras.config.enable_flash_attention()
    yield
    tf.keras.config.disable_flash_attention()


def seen(recorded: Callable[..., Trace], way: str, call: Callable[[Any], Any]) -> Any:
    ran = WAYS[way](call)
    [found] = recorded(lambda: ran(tf.constant(X))).inside().attention
    assert found.by == ("replay" if way == "compiled" else "probe")
    return found


@KERAS_3
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("flash")
def test_flash_attention_of_keras(recorded: Callable[..., Trace], way: str) -> None:
    """TensorFlow has none: Keras then computes weights, and returns to that where it would rather not."""
    layer = tf.keras.layers.MultiHeadAttention(2, 4, name="mha")
    layer(tf.constant(X), tf.constant(X))
    found = seen(recorded, way, lambda x: layer(x, x, use_causal_mask=True))
    agrees(found, 0, keras_weights(layer, X, causal=True))


@KERAS_3
@pytest.mark.parametrize("way", WAYS)
def test_the_function_of_keras(recorded: Callable[..., Trace], way: str) -> None:
    def call(x: Any) -> Any:
        headed = tf.reshape(x, [2, 7, 2, 4])
        return tf.keras.ops.dot_product_attention(headed, headed, headed, is_causal=True)

    scores = np.einsum("bqhd,bkhd->bhqk", HEADED, HEADED) / 2.0
    agrees(seen(recorded, way, call), 0, softmax(scores + BEHIND))


@pytest.mark.parametrize("way", WAYS)
def test_scale_and_mask_that_are_fused_into_the_product(recorded: Callable[..., Trace], way: str) -> None:
    """The graph optimizer makes one op of product, scale and mask where oneDNN has it; the softmax stays."""

    def call(x: Any) -> Any:
        headed = tf.transpose(tf.reshape(x, [2, 7, 2, 4]), [0, 2, 1, 3])
        scores = tf.matmul(headed, headed, transpose_b=True) * 0.5 + BEHIND[None, None]
        return tf.matmul(tf.nn.softmax(scores), headed)

    scores = np.einsum("bqhd,bkhd->bhqk", HEADED, HEADED) * 0.5
    agrees(seen(recorded, way, call), 0, softmax(scores + BEHIND))
