"""What is seen inside of a model while it trains, without being asked for; the numbers are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.transformers import ByHand, keras_weights, numbers

from tensorsleuth.trace.attention import Attention
from tensorsleuth.trace.reader import Trace

X = np.random.default_rng(1).normal(size=(3, 7, 8)).astype(np.float32)
LABELS = np.array([1, 0, 2], np.int64)
STEPS = [0, 1, 2, 4, 8, 16, 20, 40]  # of 45, where every 20th is looked at


def agrees(found: Attention, look: int, weights: Any) -> None:
    """A look has the weights of the first two samples, and what NumPy says of all."""
    kept = found.weights(look)
    assert kept is not None
    np.testing.assert_allclose(kept, weights[:2], atol=1e-5)
    for name, expected in numbers(weights).items():
        np.testing.assert_allclose(found.statistics(look)[name], expected, atol=1e-5, err_msg=name)


def test_attention_written_by_hand(compared: Callable[..., Trace]) -> None:
    def train() -> Any:
        program = ByHand()
        step = program.step()
        return [step(tf.constant(X), tf.constant(LABELS)) for _ in range(45)]

    trace = compared(train, inside_every=20)
    [found] = trace.inside().attention
    assert found.steps.tolist() == STEPS
    assert (found.heads, found.rows, found.columns, found.by) == (2, 7, 7, "probe")
    assert found.file == __file__.replace("test_inside", "transformers") and found.name == "Softmax"
    agrees(found, 0, ByHand().weights(X))
    assert trace.watched() == []


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", KERASES)
def test_attention_of_keras(recorded: Callable[..., Trace], name: str, causal: bool) -> None:
    layer = kerases.load(name).layers.MultiHeadAttention(2, 4, name="mha")
    layer(tf.constant(X), tf.constant(X))  # makes its variables
    expected = keras_weights(layer, X, causal)

    @tf.function
    def train_step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x, x, use_causal_mask=causal, training=True) ** 2)
        variables = layer.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)

    trace = recorded(lambda: [train_step(tf.constant(X)) for _ in range(3)])
    [found] = trace.inside().attention
    assert found.name == "mha" and found.steps.tolist() == [0, 1, 2]
    agrees(found, 0, expected)
