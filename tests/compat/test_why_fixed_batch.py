"""Verdicts on tensors that are made for a batch of one size, and meet the smaller one at the end of an epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Dying = Callable[[Callable[[], Any]], Finding]
Recorded = Callable[..., Trace]

X = np.random.default_rng(0).normal(size=(26, 5)).astype("float32")
BATCH = 8


def batches(drop: bool = False) -> Any:
    return tf.data.Dataset.from_tensor_slices(X).batch(BATCH, drop_remainder=drop)


class Gan(keras.Model):
    """One step of a discriminator, with labels for a batch of 8."""

    def __init__(self) -> None:
        super().__init__()
        self.judge = keras.layers.Dense(1)
        self.judge.build((None, 5))

    def train_step(self, data: Any) -> Any:
        labels = tf.zeros((8, 1))  # labels
        with tf.GradientTape() as tape:
            loss = keras.losses.BinaryCrossentropy(from_logits=True)(labels, self.judge(data))  # loss
        gradients = tape.gradient(loss, self.judge.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.judge.trainable_weights))
        return {"loss": loss}


def of_keras() -> None:
    model = Gan()
    model.compile("sgd")
    model.fit(batches(), shuffle=False, verbose=0)


def start(rows: int) -> Any:
    return tf.zeros([rows, 5])  # state


def of_a_state_that_is_traced_anew() -> None:
    @tf.function
    def step(x: Any) -> Any:
        hidden = start(BATCH)  # size
        return tf.reduce_sum(tf.nn.tanh(tf.expand_dims(x, 1) + tf.expand_dims(hidden, 1)))  # sum

    for x in batches():
        step(x)


def of_noise_in_eager_code() -> None:
    for x in batches():
        noise = tf.random.normal([BATCH, 5])  # noise
        x + noise  # added


CASES = {
    "keras": (of_keras, "labels"),
    "traced": (of_a_state_that_is_traced_anew, "size"),
    "eager": (of_noise_in_eager_code, "noise"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_constant_meets_the_last_batch(dying: Dying, name: str) -> None:
    program, mark = CASES[name]
    found = dying(program)
    line = {name: marked(name) for name in ("labels", "size", "noise")}[mark]
    assert (found.cause, found.line) == ("shape-mismatch", line), found.summary
    assert "8 rows" in found.summary and "always" in found.summary and "this batch has 2" in found.summary, (
        found.summary
    )
    assert found.confidence > 0.8 and "drop_remainder" in str(found.fix)
    assert (f"{__file__}:{marked('state')} makes [8, 5]" in found.summary) == (name == "traced"), found.summary


def test_sizes_that_never_fitted_are_told_as_ever(dying: Dying) -> None:
    def program() -> None:
        for x in batches():
            x + tf.zeros([9, 5])

    found = dying(program)
    assert found.cause == "shape-mismatch" and "always" not in found.summary


def test_an_axis_that_is_not_the_batch(dying: Dying) -> None:
    def program() -> None:
        for width in (5, 5, 4):
            tf.constant(X[:, :width]) + tf.zeros([26, 5])

    assert "always" not in dying(program).summary


def test_full_batches_are_healthy(recorded: Recorded) -> None:
    def program() -> None:
        for x in batches(drop=True):
            x + tf.random.normal([BATCH, 5])

    assert not tensorsleuth.diagnose(recorded(program)).findings
