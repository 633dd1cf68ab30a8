"""The cause that a diagnosis names at edges: of half precision, of a function's domain, of integers, of a sign."""

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


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def half(*shape: int, value: float = 400.0) -> Any:
    return tf.fill(shape, np.float16(value))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_a_division_by_zero_in_half_precision_is_no_overflow(recorded: Recorded, compiled: bool) -> None:
    def ratio(a: Any, b: Any) -> Any:
        return tf.reduce_sum(a / b)  # ratio

    run = tf.function(ratio) if compiled else ratio
    found = first(recorded(lambda: run(half(3), tf.constant([1.0, 0.0, 2.0], tf.float16))))
    assert (found.cause, found.line) == ("divide-by-zero", marked("ratio"))


def test_a_quotient_that_half_precision_cannot_hold_is_an_overflow(recorded: Recorded) -> None:
    found = first(recorded(lambda: half(3) / half(3, value=1e-3)))
    assert found.cause == "half-overflow"


ACCUMULATORS = {
    "transposed": lambda: tf.nn.conv2d_transpose(half(1, 4, 4, 8), half(3, 3, 2, 8), (1, 4, 4, 2), 1),
    "depthwise": lambda: tf.nn.depthwise_conv2d(half(1, 4, 4, 2), half(3, 3, 2, 1), [1, 1, 1, 1], "SAME"),
    "3d": lambda: tf.nn.conv3d(half(1, 3, 3, 3, 2), half(3, 3, 3, 2, 2), [1, 1, 1, 1, 1], "SAME"),
    "segments": lambda: tf.math.unsorted_segment_sum(half(200), tf.zeros(200, tf.int32), 2),
    "scattered": lambda: tf.scatter_nd(tf.zeros((200, 1), tf.int32), half(200), [2]),
    "kernel": lambda: tf.raw_ops.Conv2DBackpropFilter(
        input=half(1, 4, 4, 2),
        filter_sizes=[3, 3, 2, 2],
        out_backprop=half(1, 4, 4, 2),
        strides=[1] * 4,
        padding="SAME",
    ),
}


@pytest.mark.parametrize("kind", ACCUMULATORS)
def test_every_op_that_adds_up_in_half_precision_can_overflow(recorded: Recorded, kind: str) -> None:
    found = first(recorded(ACCUMULATORS[kind]))
    assert found.cause == "half-overflow" and "65,504" in found.summary


EDGES = {"acos": tf.acos, "asin": tf.asin, "acosh": tf.acosh}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("name", EDGES)
def test_a_slope_at_the_edge_of_a_domain(recorded: Recorded, name: str, compiled: bool) -> None:
    weight = tf.Variable([1.0])

    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(EDGES[name](weight * 1.0))  # edge
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    found = first(recorded(tf.function(train) if compiled else train))
    assert (found.cause, found.line) == ("grad-domain-edge", marked("edge"))
    assert name in found.summary and found.confidence >= 0.9


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_a_slope_that_overflows_inside_of_the_domain_is_at_no_edge(recorded: Recorded, compiled: bool) -> None:
    weight = tf.Variable([0.9])

    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.acos(weight * 1.0) * 2e38)
        weight.assign_sub(tape.gradient(loss, weight))

    assert first(recorded(tf.function(train) if compiled else train)).cause != "grad-domain-edge"


def test_inside_of_the_domain_nothing_is_wrong(recorded: Recorded) -> None:
    weight = tf.Variable([0.9])

    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.acos(weight * 1.0))
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    assert not tensorsleuth.diagnose(recorded(tf.function(train))).findings


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
def test_the_minus_before_a_log_is_told(recorded: Recorded, compiled: bool) -> None:
    def likelihood(x: Any) -> Any:
        turned = -x  # minus
        return tf.reduce_mean(tf.math.log(turned))  # log

    run = tf.function(likelihood) if compiled else likelihood
    found = first(recorded(lambda: run(tf.constant([0.5, 2.0]))))
    assert (found.cause, found.line) == ("log-negative", marked("log"))
    assert f"minus sign in line {marked('minus')}" in found.summary and "0.5 … 2" in found.summary
    assert found.fix is not None and "minus sign" in found.fix


def test_a_minus_before_numbers_of_both_signs_is_not_to_blame(recorded: Recorded) -> None:
    found = first(recorded(lambda: tf.math.log(-tf.constant([-3.0, 2.0]))))
    assert found.cause == "log-negative" and "minus sign" not in found.summary


def test_integers_that_wrapped_before_a_cast(recorded: Recorded) -> None:
    @tf.function
    def size(n: Any) -> Any:
        area = n * n  # area
        return tf.sqrt(tf.cast(area, tf.float32))

    run = size
    found = first(recorded(lambda: run(tf.constant([50_000, 3]))))
    assert (found.cause, found.line) == ("integer-overflow", marked("area"))


def test_a_quotient_of_integers_before_a_log(recorded: Recorded) -> None:
    @tf.function
    def share(n: Any) -> Any:
        part = n // 4  # part
        return tf.math.log(tf.cast(part, tf.float32))

    run = share
    found = first(recorded(lambda: run(tf.constant([1, 30]))))
    assert (found.cause, found.line) == ("integer-division", marked("part"))


def test_small_negative_integers_are_no_overflow(recorded: Recorded) -> None:
    found = first(recorded(lambda: tf.sqrt(tf.cast(tf.constant([5, -3]) * tf.constant([1, 2]), tf.float32))))
    assert found.cause == "sqrt-negative"


@pytest.mark.parametrize(("lowest", "rounded"), [(-0.49, False), (-3e-8, True)])
def test_only_what_is_next_to_zero_may_be_rounding(recorded: Recorded, lowest: float, rounded: bool) -> None:
    found = first(recorded(lambda: tf.sqrt(tf.constant([lowest, 1.0, 1.6]))))
    assert found.cause == "sqrt-negative" and found.fix is not None
    assert found.fix.startswith("rounding") is rounded


CHAINS = {"log-asin": (tf.math.log, tf.asin), "log-sqrt": (tf.math.log, tf.sqrt), "asin-log": (tf.asin, tf.math.log)}


@pytest.mark.parametrize("name", CHAINS)
def test_the_first_of_a_chain_that_is_computed_as_one_is_to_blame(recorded: Recorded, name: str) -> None:
    outer, inner = CHAINS[name]

    @tf.function
    def chained(x: Any) -> Any:
        first_of_two = inner(x * 3.0)  # inner
        return outer(first_of_two)

    run = chained
    found = first(recorded(lambda: run(tf.fill([2, 3], -1.0)).numpy()))
    assert found.line == marked("inner"), found.summary


# What TensorFlow computes together with the log, so that the argument itself has no row.
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "x + 1": lambda x: x + 1.0,
    "2 - x": lambda x: 2.0 - x,
    "3 x - 1": lambda x: 3.0 * x - 1.0,
    "-x / 2 + 0.01": lambda x: -x / 2.0 + 0.01,
    "relu(x) - 4": lambda x: tf.nn.relu(x) - 4.0,
    "-abs(x + 20)": lambda x: -tf.abs(x + 20.0),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_numbers_told_are_those_of_the_argument(recorded: Recorded, name: str) -> None:
    argument, given = ARGUMENTS[name], np.array([-7.0, -0.5, 3.0, 5.0], np.float32)

    @tf.function
    def logs(x: Any) -> Any:
        return tf.reduce_mean(tf.math.log(argument(x)))

    run = logs
    found = first(recorded(lambda: run(tf.constant(given))))
    lowest = float(np.min(argument(tf.constant(given))))
    assert found.cause == "log-negative" and f"(down to {lowest:.4g})" in found.summary


def test_numbers_that_nobody_saw_are_not_told(recorded: Recorded) -> None:
    """What was fed is not what the log took: between them lie ops that were not recorded."""

    @tf.function
    def likelihood(x: Any) -> Any:
        return tf.reduce_mean(tf.math.log(tf.reduce_sum(x * x, axis=1) - 100.0))  # unseen

    run = likelihood
    found = first(recorded(lambda: run(tf.constant([[-3.0, 2.0], [0.5, 0.5]])), op_regex="Mean|Feed|__inference"))
    assert (found.cause, found.line) == ("log-negative", marked("unseen"))
    assert "-3" not in found.summary.split(" ", 1)[1] and 0.7 <= found.confidence < 0.9
    assert [piece.role for piece in found.evidence if piece.dtype != "constant"] == ["also", "out"]
