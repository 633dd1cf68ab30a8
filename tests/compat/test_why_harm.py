"""The finding that is told first: what spoils the training before what is only printed, the cause before the scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.confidence import confidence_words
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(5).normal(size=(16, 4)).astype("float32")


def findings(trace: Trace) -> tuple[Finding, ...]:
    return tensorsleuth.diagnose(trace).findings


def demonstration() -> None:
    x = tf.constant(256.0, tf.float16)
    print((x**2).numpy())  # shown


def training(is_bad: bool) -> None:
    weights = tf.Variable(tf.ones([4, 1]))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            root = tf.sqrt(tf.nn.relu(x @ weights - (1e9 if is_bad else -9.0)))  # slope
            loss = tf.reduce_mean(root)
        weights.assign_sub(1e-3 * tape.gradient(loss, weights))
        return loss

    for _ in range(6):
        step(tf.constant(X))


@pytest.mark.parametrize("is_first", [True, False])
def test_what_spoils_the_weights_comes_before_a_printed_infinity(recorded: Recorded, is_first: bool) -> None:
    def program() -> None:
        for part in (demonstration, lambda: training(True))[:: 1 if is_first else -1]:
            part()

    found = findings(recorded(program))
    assert [one.line for one in found[:1]] == [marked("slope")]
    assert marked("shown") in [one.line for one in found]


def test_a_printed_infinity_alone_is_told(recorded: Recorded) -> None:
    def program() -> None:
        demonstration()
        training(False)

    assert [one.line for one in findings(recorded(program))] == [marked("shown")]


LOSSES = {
    "log": lambda x: -tf.reduce_mean(tf.math.log(x)),  # log's loss
    "inverse": lambda x: tf.reduce_mean(1.0 / x),  # inverse's loss
    "power": lambda x: tf.reduce_mean(x**-0.5),  # power's loss
}


@pytest.mark.parametrize("is_function", [True, False])
@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_that_is_printed_comes_before_its_gradient(recorded: Recorded, name: str, is_function: bool) -> None:
    """The tape asks for the gradient in a call of its own, and only that gradient gets into the weights."""
    weights = tf.Variable([[1.0], [1.0], [1.0], [1.0]])
    loss_of = tf.function(LOSSES[name]) if is_function else LOSSES[name]

    def program() -> None:
        for step in range(4):
            with tf.GradientTape() as tape:
                loss = loss_of(tf.nn.relu(X[:, :1] * weights[0] + 3.0 - 1e9 * (step == 2)))
            weights.assign_sub(1e-3 * tape.gradient(loss, weights))
            print(float(loss))

    found = findings(recorded(program))
    assert found[0].line == marked(f"{name}'s loss") and "differentiates" not in found[0].summary


def halved(loss_of: Callable[[Any, Any], Any], epsilon: float = 1e-8) -> None:
    """Skip steps whose gradients are not finite, and halve the scale, as optimizers of mixed precision do."""
    logits = tf.Variable([[-11.2, 0.0], [-11.0, 0.0]] * 8)
    scale = tf.Variable(2.0**8, trainable=False, name="dynamic_scale")

    @tf.function
    def step(labels: Any) -> Any:
        with tf.GradientTape() as tape:
            shares = tf.nn.softmax(tf.cast(logits, tf.float16))
            loss = loss_of(shares, labels)
            scaled = tf.cast(loss, tf.float32) * scale
        gradient = tape.gradient(scaled, logits)
        if tf.reduce_all(tf.math.is_finite(gradient)):
            logits.assign_sub(0.1 * gradient / scale)
        else:
            scale.assign(scale / 2.0)
        return loss

    for _ in range(12):
        step(tf.one_hot([0, 0] * 8, 2, dtype=tf.float16))


def test_the_op_that_a_collapsing_scale_skips_is_named(recorded: Recorded) -> None:
    def by_hand(shares: Any, labels: Any) -> Any:
        return -tf.reduce_mean(tf.reduce_sum(labels * tf.math.log(shares + 1e-8), axis=-1))  # by hand

    (found,) = findings(recorded(lambda: halved(by_hand)))
    assert (found.cause, found.line) == ("grad-half-overflow", marked("by hand"))
    assert "the slope, 1/x, exceeds 65,504" in found.summary and "epsilon that is added is 0" in found.summary
    assert "the scale collapses" in found.effects[0] and 0.7 <= found.confidence < 0.9


def test_a_loss_in_float32_needs_no_smaller_scale(recorded: Recorded) -> None:
    def in_float32(shares: Any, labels: Any) -> Any:
        shares, labels = tf.cast(shares, tf.float32), tf.cast(labels, tf.float32)
        return -tf.reduce_mean(tf.reduce_sum(labels * tf.math.log(shares + 1e-4), axis=-1))

    assert findings(recorded(lambda: halved(in_float32))) == ()


@pytest.mark.parametrize("is_measured", [True, False])
def test_what_xla_compiles_in_a_loop_over_a_dataset_is_led_into(recorded: Recorded, is_measured: bool) -> None:
    """No op of it has a row, and the loop itself is a single op; the same line in another run says why."""
    weights = tf.Variable(tf.ones([4, 2]))

    def unit(x: Any) -> Any:
        return x / tf.sqrt(tf.reduce_sum(x * x, axis=1, keepdims=True))  # norm

    @tf.function(jit_compile=True)
    def loss_of(x: Any) -> Any:
        return tf.reduce_mean(unit(x) @ weights)

    @tf.function
    def epoch(data: Any) -> Any:
        loss = 0.0
        for x in data:
            loss += loss_of(x)
        return loss

    @tf.function
    def measured(x: Any) -> Any:
        return tf.argmax(unit(x) @ weights, axis=1)

    def program() -> None:
        x = np.where(np.arange(16)[:, None] == 9, 0.0, X).astype("float32")
        epoch(tf.data.Dataset.from_tensor_slices(x).batch(8)).numpy()
        if is_measured:
            measured(tf.constant(x)).numpy()

    found = findings(recorded(program))[0]
    if is_measured:
        assert (found.cause, found.line) == ("normalise-zero", marked("norm"))
    else:
        assert found.cause == "origin" and confidence_words(found).startswith("low")
