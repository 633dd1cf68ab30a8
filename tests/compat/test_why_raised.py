"""Verdicts on ops that raise because of a NaN made earlier, through integers and truth values, caught or not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Use = Callable[[Any], Any]
TABLE = tf.ones((5, 2))
WEIGHTS = tf.ones((3, 3))


def gather(y: Any) -> Any:
    return tf.gather(TABLE, tf.cast(y[0] * 2.0, tf.int32))


def fill(y: Any) -> Any:
    return tf.fill([tf.cast(y[0, 0] * 10.0, tf.int32)], 1.0)


def less(y: Any) -> Any:
    tf.debugging.assert_less_equal(y, 10.0, message="too large")
    return TABLE


def close(y: Any) -> Any:
    tf.debugging.assert_near(tf.reduce_sum(y), 1.0, rtol=10.0, atol=10.0)
    return TABLE


def explicit(y: Any) -> Any:
    tf.debugging.Assert(tf.reduce_all(y < 1e6), [y])
    return TABLE


USES: list[Use] = [gather, fill, less, close, explicit]


def run(use: Use, x: Any) -> Any:
    ratio = x / tf.reduce_sum(x)  # zero by zero
    return use(tf.matmul(tf.matmul(ratio, WEIGHTS), WEIGHTS))


def first_error(recorded: Recorded, use: Use, compiled: bool, x: Any) -> Finding | None:
    call = tf.function(run, autograph=False) if compiled else run

    def program() -> None:
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            call(use, x)

    return next(iter(tensorsleuth.diagnose(recorded(program)).findings), None)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("use", USES)
def test_what_raises_leads_back_to_the_nan(recorded: Recorded, use: Use, compiled: bool) -> None:
    finding = first_error(recorded, use, compiled, tf.zeros((2, 3)))
    assert finding is not None, "what was raised and caught is harm"
    assert (finding.cause, finding.line) == ("zero-over-zero", marked("zero by zero")), finding.summary


@pytest.mark.parametrize("compiled", [False, True])
def test_an_index_that_a_mask_led_to_is_not_the_mask(recorded: Recorded, compiled: bool) -> None:
    """Minus infinity has its place in an order, and a finite float lets nothing through."""

    def masked(y: Any) -> Any:
        scores = tf.concat([y[0], [-float("inf")]], 0)
        chosen = tf.argmax(scores) + 7
        return tf.gather(TABLE, chosen) * tf.reduce_sum(tf.nn.softmax(scores))

    finding = first_error(recorded, masked, compiled, tf.ones((2, 3)))
    assert finding is None or finding.severity != "error" or finding.op == "GatherV2"


@pytest.mark.parametrize("use", [gather, less])
def test_a_session_too(recorded: Recorded, use: Use) -> None:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, (2, 3))
        ratio = x / tf.reduce_sum(x)  # zero by zero, fed
        y = tf.matmul(ratio, tf.ones((3, 3)))
        if use is gather:
            fetch = tf.gather(tf.ones((5, 2)), tf.cast(y[0], tf.int32))
        else:
            with tf.control_dependencies([tf.compat.v1.debugging.assert_less_equal(y, 10.0)]):
                fetch = tf.zeros(()) + 1.0

        def program() -> None:
            with tf.compat.v1.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
                session.run(fetch, {x: [[0.0] * 3] * 2})

        finding = next(iter(tensorsleuth.diagnose(recorded(program)).findings), None)
    assert finding is not None, "what was raised and caught is harm"
    assert (finding.cause, finding.line) == ("zero-over-zero", marked("zero by zero, fed")), finding.summary
