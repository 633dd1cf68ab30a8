"""Verdicts where a kernel makes zeros of NaN, as oneDNN does of a product, bias and ReLU in one: as where none does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
rng = np.random.default_rng(12)
X = rng.normal(size=(16, 8)).astype("float32")


class Network(tf.Module):
    """Two layers, with a division in front of them that has nothing to divide in one batch."""

    def __init__(self, cover: bool) -> None:
        super().__init__()
        self.cover = cover
        self.first = tf.Variable(rng.normal(size=(8, 8)).astype("float32"), name="first")
        self.bias = tf.Variable(np.full(8, 0.1, "float32"), name="bias")
        self.last = tf.Variable(rng.normal(size=(8, 1)).astype("float32"), name="last")

    def __call__(self, x: Any, counts: Any) -> Any:
        mean = x / counts  # nothing to divide by
        hidden = tf.matmul(mean, self.first) + self.bias
        hidden = tf.where(tf.math.is_nan(hidden), 0.0, hidden) if self.cover else hidden
        return tf.matmul(tf.nn.relu(hidden), self.last)


def verdict_on(recorded: Recorded, jit_compile: bool, cover: bool = False) -> Diagnosis:
    model = Network(cover)

    @tf.function(jit_compile=jit_compile)
    def train(x: Any, counts: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, counts) ** 2)
        for variable, gradient in zip(model.variables, tape.gradient(loss, model.variables), strict=True):
            variable.assign_sub(1e-3 * gradient)
        return loss

    def program() -> None:
        for step in range(24):
            empty = np.arange(16)[:, None] == (3 if step == 4 else -1)
            train(tf.constant(np.where(empty, 0, X)), tf.constant(np.where(empty, 0, 1), tf.float32))

    return tensorsleuth.diagnose(recorded(program))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_nothing_but_the_birth_is_told(recorded: Recorded, jit_compile: bool) -> None:
    found = verdict_on(recorded, jit_compile)
    assert [(one.cause, one.line) for one in found.findings] == [("zero-over-zero", marked("nothing to divide by"))]


def test_a_layer_of_nan_is_not_dead(recorded: Recorded) -> None:
    found = verdict_on(recorded, jit_compile=False, cover=True)  # the ReLU returns zeros on every machine
    assert [one.cause for one in found.findings] == ["zero-over-zero"]


def test_a_line_that_did_harm_is_not_told_again_as_masked(recorded: Recorded) -> None:
    @tf.function
    def share(x: Any, whole: Any, cover: Any) -> Any:
        part = x / whole  # share
        return tf.where(cover, 0.0, part)

    def program() -> None:
        share(tf.constant([0.0]), tf.constant([0.0]), tf.constant([True])).numpy()
        share(tf.constant([0.0]), tf.constant([0.0]), tf.constant([False])).numpy()

    found = tensorsleuth.diagnose(recorded(program))
    assert [(one.cause, one.line) for one in found.findings] == [("zero-over-zero", marked("share"))]
    assert found.masked == ()
