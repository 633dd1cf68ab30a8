"""A training function that does not return its loss: the graph optimizer leaves out what only the loss needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Loss = Callable[[Any, Any], Any]
X = tf.random.stateless_normal([32, 3], [1, 2])
Y = tf.reduce_sum(X, 1)

COLUMNS_AND_ROWS: dict[str, Loss] = {
    "square": lambda p, y: tf.reduce_mean(tf.square(p - y)),
    "squared difference": lambda p, y: tf.reduce_mean(tf.math.squared_difference(p, y)),
    "absolute": lambda p, y: tf.reduce_mean(tf.abs(y - p)),
    "power": lambda p, y: tf.reduce_sum((p - y) ** 2) / 1024.0,
    "product": lambda p, y: -tf.reduce_mean(y * tf.math.log(tf.sigmoid(p))),
}
INTENDED: dict[str, Loss] = {
    "same shape": lambda p, y: tf.reduce_mean(tf.square(p[:, 0] - y)),
    "all pairs": lambda p, y: tf.reduce_mean(tf.math.squared_difference(p - tf.transpose(p), y[:, None] - y[None])),
    "nearest": lambda p, y: tf.reduce_mean(tf.reduce_min(tf.math.squared_difference(p, y), 1)),
}


def train(recorded: Recorded, loss_of: Loss) -> tuple[Finding, ...]:
    def program() -> None:
        weights = tf.Variable(tf.zeros([3, 1]))

        @tf.function
        def step(x: Any, y: Any) -> None:
            with tf.GradientTape() as tape:
                loss = loss_of(x @ weights, y)  # loss
            weights.assign_sub(0.01 * tape.gradient(loss, weights))

        for _ in range(5):
            step(X, Y)

    return tensorsleuth.diagnose(recorded(program)).findings


@pytest.mark.parametrize("name", COLUMNS_AND_ROWS)
def test_a_column_that_meets_a_row(recorded: Recorded, name: str) -> None:
    def loss_of(p: Any, y: Any) -> Any:
        return COLUMNS_AND_ROWS[name](p, y)

    found = train(recorded, loss_of)
    assert [one.cause for one in found] == ["accidental-broadcast"]
    assert found[0].line != marked("loss"), "the line of the comparison, not of the call"
    assert {(32, 1), (32,)} <= {one.shape for one in found[0].evidence}


@pytest.mark.parametrize("name", INTENDED)
def test_pairs_that_are_meant(recorded: Recorded, name: str) -> None:
    assert not train(recorded, INTENDED[name])
