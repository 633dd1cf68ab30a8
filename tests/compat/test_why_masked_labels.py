"""Verdicts on labels of positions whose logits are masked with −∞, and on masks that do no harm."""

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

Recorded = Callable[..., Trace]
Loss = Callable[[Any], Any]

INFINITE = -np.inf
X = np.random.default_rng(4).normal(size=(8, 4)).astype("float32")
ALLOWED = np.array([True, True, False, True])
WAYS: dict[str, Callable[[Loss], Loss]] = {"eager": lambda loss: loss, "function": tf.function}


def train(recorded: Recorded, way: str, loss: Loss, steps: int = 4) -> Trace:
    """Train weights with a loss of logits [8, 4]."""
    weights = tf.Variable(tf.eye(4), name="weights")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(x @ weights)
        weights.assign_sub(0.1 * tape.gradient(value, weights))
        return value

    run = WAYS[way](step)
    return recorded(lambda: [float(run(tf.constant(X))) for _ in range(steps)])


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def masked(logits: Any) -> Any:
    return tf.where(ALLOWED, logits, INFINITE)  # the mask


def sparse(logits: Any) -> Any:
    labels = tf.constant([0, 1, 2, 3] * 2)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, masked(logits)))


def dense(logits: Any) -> Any:
    labels = tf.constant([[0.25, 0.25, 0.25, 0.25]] * 8)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, masked(logits)))


def gathered(logits: Any) -> Any:
    log_probabilities = tf.nn.log_softmax(masked(logits))
    return -tf.reduce_mean(tf.gather(log_probabilities, tf.constant([[0], [2]] * 4), batch_dims=1))


def by_hand(logits: Any) -> Any:
    logits = masked(logits)
    log_probabilities = logits - tf.reduce_logsumexp(logits, axis=-1, keepdims=True)
    return -tf.reduce_mean(tf.reduce_sum(log_probabilities * 0.25, axis=-1))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", [sparse, dense, gathered, by_hand])
def test_labels_of_what_is_masked(recorded: Recorded, loss: Loss, way: str) -> None:
    found = first(train(recorded, way, loss))
    assert (found.cause, found.line) == ("masked-label", marked("the mask")), found.summary
    assert "masks logits with −∞" in found.summary and "log probability of labels" in found.summary
    assert found.confidence > 0.9 and "no label" in str(found.fix)


@pytest.mark.parametrize("way", WAYS)
def test_labels_of_zero(recorded: Recorded, way: str) -> None:
    """TensorFlow multiplies each label by its log probability, and 0 · −∞ is NaN."""
    labels = tf.constant([[0.5, 0.5, 0.0, 0.0]] * 8)
    found = first(
        train(recorded, way, lambda x: tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, masked(x))))
    )
    assert (found.cause, found.line) == ("masked-label", marked("the mask")), found.summary
    assert "0 · −∞" in found.summary and "-1e9" in str(found.fix)


def test_a_loss_of_keras_that_masks_the_diagonal(recorded: Recorded) -> None:
    class Pairs(keras.losses.Loss):
        def call(self, label: Any, z: Any) -> Any:
            logits = z @ tf.transpose(z)
            logits = tf.linalg.set_diag(logits, tf.fill([tf.shape(logits)[0]], INFINITE))  # diagonal
            same = tf.cast(tf.equal(label, tf.transpose(label)), tf.float32)
            return tf.nn.softmax_cross_entropy_with_logits(same / tf.reduce_sum(same, 1, keepdims=True), logits)

    model = keras.Sequential([keras.layers.Dense(3)])
    model.compile("sgd", Pairs())
    trace = recorded(lambda: model.fit(X, np.zeros([8, 1]), batch_size=4, epochs=2, verbose=0))
    found = first(trace)
    assert (found.cause, found.line) == ("masked-label", marked("diagonal")), found.summary
    assert "4 of 4 losses" in found.summary and "MatrixSetDiagV3" in found.summary


def test_a_row_that_is_masked_from_end_to_end_is_told_as_ever(recorded: Recorded) -> None:
    rows = np.array([[True], [False]] * 4)

    def loss(logits: Any) -> Any:
        labels = tf.constant([[0.25, 0.25, 0.25, 0.25]] * 8)
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, tf.where(rows, logits, INFINITE)))

    assert first(train(recorded, "function", loss)).cause == "masked-row"


def sparse_elsewhere(logits: Any) -> Any:
    labels = tf.constant([0, 1, 3, 3] * 2)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, masked(logits)))


def left_out_afterwards(logits: Any) -> Any:
    labels = tf.constant([0, 1, 2, 3] * 2)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, masked(logits))
    return tf.reduce_mean(tf.where(labels == 2, 0.0, losses))


def costs_of_a_search(logits: Any) -> Any:
    """Return the loss of other logits; the costs of words that may not follow are infinite, and only compared."""
    costs = -tf.nn.log_softmax(masked(logits))
    best = tf.one_hot(tf.argmin(costs, axis=-1), 4)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(best, logits))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", [sparse_elsewhere, left_out_afterwards, costs_of_a_search])
def test_masks_that_do_no_harm(recorded: Recorded, loss: Loss, way: str) -> None:
    assert not [one for one in tensorsleuth.diagnose(train(recorded, way, loss)).findings if "mask" in one.cause]
