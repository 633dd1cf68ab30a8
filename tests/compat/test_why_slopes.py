"""Bad gradients of good values: a loss scale, a softmax by hand, the branch that tf.where does not take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
COMPILED = pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(16, 8)).astype(np.float16)


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def half_model() -> tuple[Any, Any]:
    weights = [RNG.normal(size=size).astype(np.float32) for size in ((8, 8), (8, 1))]
    return tf.Variable(weights[0]), tf.Variable(weights[1])


def scaled_step(scale: float) -> Callable[[], Any]:
    weights = half_model()

    def step() -> Any:
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(X, tf.cast(weights[0], tf.float16)))
            error = tf.cast(tf.matmul(h, tf.cast(weights[1], tf.float16)), tf.float32) - 10.0
            loss = tf.reduce_mean(tf.square(error))
            scaled = loss * scale  # scale
        for weight, slope in zip(weights, tape.gradient(scaled, weights), strict=True):
            weight.assign_sub(0.001 * slope / scale)
        return loss

    return step


@COMPILED
def test_a_loss_scale_that_is_too_large_is_named(recorded: Recorded, compiled: bool) -> None:
    step = scaled_step(2.0**17)
    found = first(recorded(tf.function(step) if compiled else step))
    assert (found.cause, found.line) == ("loss-scale", marked("scale"))
    assert "multiplies the loss by 131,072" in found.summary and found.confidence >= 0.9


@COMPILED
def test_a_loss_scale_that_fits_is_healthy(recorded: Recorded, compiled: bool) -> None:
    step = scaled_step(64.0)
    assert not tensorsleuth.diagnose(recorded(tf.function(step) if compiled else step)).findings


@COMPILED
def test_a_scale_that_float16_itself_cannot_hold(recorded: Recorded, compiled: bool) -> None:
    weight = tf.Variable(RNG.normal(size=(8, 1)).astype(np.float16))

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(X, weight) - 3.0))
            scaled = loss * np.float16(np.inf)  # too much
        weight.assign_sub(tape.gradient(scaled, weight))
        return loss

    found = first(recorded(tf.function(step) if compiled else step))
    assert (found.cause, found.line) == ("loss-scale", marked("too much"))
    assert "cannot hold" in found.summary


def test_a_gradient_that_overflows_without_a_scale_names_none(recorded: Recorded) -> None:
    weight = tf.Variable(tf.constant([1e-5, 1.0], tf.float16))

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.math.log(weight))
        weight.assign_sub(tape.gradient(loss, weight))
        return loss

    run = step
    assert first(recorded(run)).cause != "loss-scale"


@COMPILED
@pytest.mark.parametrize("logits", [[-86.0, -86.5, -86.1], [-0.5, 1.0, 0.2]], ids=["small", "healthy"])
def test_a_softmax_by_hand_whose_gradient_overflows(recorded: Recorded, logits: list[float], compiled: bool) -> None:
    weight, x = tf.Variable(1.0), tf.constant([logits, [one - 0.3 for one in logits]])

    def step() -> None:
        with tf.GradientTape() as tape:
            e = tf.exp(weight * x)
            shares = e / tf.reduce_sum(e, axis=-1, keepdims=True)  # shares
            loss = tf.reduce_sum(-100.0 * tf.math.log(shares))
        weight.assign_sub(0.001 * tape.gradient(loss, weight))

    trace = recorded(tf.function(step) if compiled else step)
    if logits[0] > -1.0:
        assert not tensorsleuth.diagnose(trace).findings
        return
    found = first(trace)
    assert (found.cause, found.line) == ("softmax-by-hand", marked("shares"))
    assert "its values are finite" in found.summary


MASKED: dict[str, Callable[[Any], Any]] = {
    "log": tf.math.log,
    "pow": lambda x: tf.pow(x, 0.5),
    "quotient": lambda x: tf.sqrt(x) / x,
    "acos": lambda x: tf.acos(1.0 - x),
}


@COMPILED
@pytest.mark.parametrize("name", MASKED)
def test_a_where_trap_is_told_at_the_masked_op(recorded: Recorded, name: str, compiled: bool) -> None:
    weight, x = tf.Variable([0.5, 0.5]), tf.constant([0.0, 1.0])

    def step() -> None:
        with tf.GradientTape() as tape:
            product = x * weight
            masked = MASKED[name](product)  # masked
            loss = tf.reduce_sum(tf.where(x > 0.0, masked, 0.0))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    found = first(recorded(tf.function(step) if compiled else step))
    lines = {marked("masked"), *(number for number in range(marked("masked") - 35, marked("masked")))}
    assert found.cause == "where-trap" and found.line in lines


def root(x: Any) -> Any:
    return tf.pow(x, 0.5)


BOTH: dict[str, Callable[[Any], Any]] = {
    "twice": lambda x: tf.where(x > 1.0, root(x), 0.5 * root(x)),
    "sqrt": lambda x: tf.where(x > 1.0, tf.sqrt(x), 0.5 * tf.sqrt(x)),
    "once": lambda x: (lambda y: tf.where(x > 1.0, y, 0.5 * y))(root(x)),
    "acos": lambda x: tf.where(x > 1.0, tf.acos(1.0 - x / 8.0), 0.5 * tf.acos(1.0 - x / 8.0)),
}


@COMPILED
@pytest.mark.parametrize("name", BOTH)
def test_what_both_branches_compute_is_no_where_trap(recorded: Recorded, name: str, compiled: bool) -> None:
    """Whatever the condition is, a branch is taken in which the slope is infinite."""
    weight, x = tf.Variable([0.5, 2.0]), tf.constant([0.0, 2.0])

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(BOTH[name](x * weight))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    found = first(recorded(tf.function(step) if compiled else step))
    slopes = {"twice": "grad-pow-zero", "once": "grad-pow-zero", "sqrt": "grad-sqrt-zero", "acos": "grad-domain-edge"}
    assert found.cause == slopes[name]


@COMPILED
def test_another_log_in_the_other_branch_is_still_a_where_trap(recorded: Recorded, compiled: bool) -> None:
    weight, x = tf.Variable([0.5, 2.0]), tf.constant([0.0, 0.25])

    def step() -> None:
        with tf.GradientTape() as tape:
            y = x * weight
            loss = tf.reduce_sum(tf.where(y > 0.0, tf.math.log(y), tf.math.log(1.0 - y)))  # symmetric
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    found = first(recorded(tf.function(step) if compiled else step))
    assert (found.cause, found.line) == ("where-trap", marked("symmetric"))


@COMPILED
def test_a_dropout_is_no_where_trap(recorded: Recorded, compiled: bool) -> None:
    weight, x = tf.Variable(tf.ones([8])), tf.constant([0.0, 1.0] * 4)

    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.dropout(tf.sqrt(x * weight), 0.5, seed=1))  # root
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    tf.random.set_seed(1)
    found = first(recorded(tf.function(step) if compiled else step))
    assert (found.cause, found.line) == ("grad-sqrt-zero", marked("root"))
