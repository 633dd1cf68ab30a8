"""A training function that does not return its loss: the graph optimizer leaves out what only the loss needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
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
    "by sample": lambda p, y: tf.reduce_mean(tf.reduce_mean(tf.square(p - y), axis=-1)),
    "by sample, weighted": lambda p, y: tf.reduce_sum(2.0 * tf.reduce_mean(tf.abs(p - y), axis=1) * y) / 32.0,
}
INTENDED: dict[str, Loss] = {
    "same shape": lambda p, y: tf.reduce_mean(tf.square(p[:, 0] - y)),
    "all pairs": lambda p, y: tf.reduce_mean(tf.math.squared_difference(p - tf.transpose(p), y[:, None] - y[None])),
    "density": lambda p, y: -tf.reduce_mean(tf.math.log(tf.reduce_mean(tf.exp(-tf.square(p - y)), 1))),
    "hardest": lambda p, y: tf.reduce_max(tf.reduce_mean(tf.square(p - y), 1)),
    "nearest": lambda p, y: tf.reduce_mean(tf.reduce_min(tf.math.squared_difference(p, y), 1)),
}


def train(recorded: Recorded, loss_of: Loss, compiled: bool = True) -> tuple[Finding, ...]:
    def program() -> None:
        weights = tf.Variable(tf.zeros([3, 1]))

        def step(x: Any, y: Any) -> None:
            with tf.GradientTape() as tape:
                loss = loss_of(x @ weights, y)  # loss
            weights.assign_sub(0.01 * tape.gradient(loss, weights))

        run = tf.function(step) if compiled else step
        for _ in range(5):
            run(X + 0.0, Y + 0.0)

    return tensorsleuth.diagnose(recorded(program)).findings


@pytest.mark.parametrize("name", COLUMNS_AND_ROWS)
def test_a_column_that_meets_a_row(recorded: Recorded, name: str) -> None:
    def loss_of(p: Any, y: Any) -> Any:
        return COLUMNS_AND_ROWS[name](p, y)

    found = train(recorded, loss_of)
    assert [one.cause for one in found] == ["accidental-broadcast"]
    assert found[0].line != marked("loss"), "the line of the comparison, not of the call"
    assert {(32, 1), (32,)} <= {one.shape for one in found[0].evidence}


def own_loss(keras: Any) -> Any:
    class Squares(keras.losses.Loss):
        def call(self, y: Any, p: Any) -> Any:
            return tf.reduce_mean(tf.square(y - p), axis=-1)  # of a sample

    return Squares()


def keras_losses(keras: Any) -> dict[str, Loss]:
    own = own_loss(keras)
    return {
        "function": lambda p, y: tf.reduce_mean(keras.losses.MSE(y, p)),
        "object": lambda p, y: keras.losses.MeanSquaredError()(y, p),
        "own": lambda p, y: own(y, p),
    }


def is_keras_3(keras: Any) -> bool:
    return hasattr(keras, "ops")


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("name", KERASES)
def test_losses_of_keras(recorded: Recorded, name: str, compiled: bool) -> None:
    """A loss object compares like with like. A function of Keras 2 does not, nor does an own loss."""
    keras, bad = kerases.load(name), ["accidental-broadcast"]
    found = {way: [one.cause for one in train(recorded, loss, compiled)] for way, loss in keras_losses(keras).items()}
    assert found == {"function": [] if is_keras_3(keras) else bad, "object": [], "own": bad}


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_a_loss_of_ones_own_in_fit(recorded: Recorded, run_eagerly: bool) -> None:
    keras = kerases.load(KERASES[0])
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", own_loss(keras), run_eagerly=run_eagerly)
    trace = recorded(lambda: model.fit(X.numpy(), Y.numpy(), batch_size=16, epochs=3, verbose=0))
    found = tensorsleuth.diagnose(trace).findings
    expected = [("accidental-broadcast", marked("of a sample"))] if is_keras_3(keras) else []  # Keras 2 expands labels
    assert [(one.cause, one.line) for one in found] == expected


@pytest.mark.parametrize("name", INTENDED)
def test_pairs_that_are_meant(recorded: Recorded, name: str) -> None:
    assert not train(recorded, INTENDED[name])
