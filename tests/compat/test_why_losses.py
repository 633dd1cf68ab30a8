"""Losses that are given what they do not expect, and gradients that are zero: with each Keras, compiled or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
random = np.random.default_rng(11)
X = random.normal(size=(40, 4)).astype("float32")
CLASS = X[:, :3].argmax(1)
HOT = np.eye(3, dtype="float32")[CLASS]
POSITIVE = (X[:, :1] > 0).astype("float32")
STEPS = 20


def model_of(keras: Any, outputs: int, activation: str | None) -> Any:
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(8, "tanh"), keras.layers.Dense(outputs, activation)]
    return keras.Sequential([keras.layers.Input((4,)), *layers])


def causes(trace: Trace) -> list[str]:
    return [finding.cause for finding in tensorsleuth.diagnose(trace).findings]


KERAS_LOSSES: list[tuple[str, int, str | None, Any, list[str]]] = [
    ("sparse_categorical_crossentropy", 3, None, CLASS, ["logits-as-probabilities"]),
    ("categorical_crossentropy", 3, None, HOT, ["logits-as-probabilities"]),
    ("binary_crossentropy", 1, None, POSITIVE, ["logits-as-probabilities"]),
    ("sparse_categorical_crossentropy", 3, "softmax", CLASS, []),
    ("categorical_crossentropy", 3, "softmax", HOT, []),
    ("binary_crossentropy", 1, "sigmoid", POSITIVE, []),
    ("binary_focal_crossentropy", 1, "sigmoid", POSITIVE, []),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", KERAS_LOSSES, ids=lambda case: f"{case[0]}-{case[2]}")
@pytest.mark.parametrize("name", KERASES)
def test_what_keras_takes_for_probabilities(recorded: Recorded, name: str, case: Any, compiled: bool) -> None:
    loss, outputs, activation, goal, expected = case
    keras = kerases.load(name)
    model = model_of(keras, outputs, activation)
    model.compile("sgd", loss, jit_compile=compiled)
    trace = recorded(lambda: model.fit(X, goal, batch_size=8, epochs=1, shuffle=False, verbose=0))
    assert causes(trace) == expected


def squashed_twice(logits: Any) -> Any:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(CLASS, tf.nn.softmax(logits))
    return tf.reduce_mean(losses)  # a softmax of a softmax


def squashed_twice_of_two(logits: Any) -> Any:
    losses = tf.nn.sigmoid_cross_entropy_with_logits(POSITIVE, tf.sigmoid(logits[:, :1]))
    return tf.reduce_mean(losses)


def counted(logits: Any) -> Any:
    return tf.reduce_mean(tf.abs(tf.sign(logits[:, :1]) - POSITIVE))  # wrong answers


LOSSES: list[tuple[Callable[[Any], Any], list[str]]] = [
    (squashed_twice, ["probabilities-as-logits"]),
    (squashed_twice_of_two, ["probabilities-as-logits"]),
    (counted, ["zero-gradients"]),
    (lambda logits: tf.reduce_mean(tf.square(tf.clip_by_value(logits + 9.0, 0.0, 1.0) - HOT)), ["zero-gradients"]),
    (lambda logits: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(CLASS, logits)), []),
    (lambda logits: tf.reduce_mean(tf.nn.relu(-9.0 - logits)), []),  # a hinge that is met
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("loss_of", "expected"), LOSSES, ids=range(len(LOSSES)))
def test_losses_written_by_hand(
    recorded: Recorded, loss_of: Callable[[Any], Any], expected: list[str], compiled: bool
) -> None:
    weights = tf.Variable(random.normal(size=(4, 3)).astype("float32"), name="weights")

    @tf.function(jit_compile=compiled)
    def train_step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(x @ weights)
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    trace = recorded(lambda: [train_step(tf.constant(X)) for _ in range(STEPS)])
    assert causes(trace) == expected


@pytest.mark.parametrize(("seed", "noted"), [(1, ["chance-loss"]), (None, [])], ids=["shuffled", "as they are"])
def test_two_classes_that_nothing_tells_apart(recorded: Recorded, seed: int | None, noted: list[str]) -> None:
    """Labels of other samples; a note, for labels that lie between 0 and 1 may have no smaller loss."""
    drawn = np.random.default_rng(5).normal(size=(4096, 2)).astype("float32")
    labels = (drawn[:, :1] > 0).astype("float32")
    labels = labels if seed is None else np.random.default_rng(seed).permutation(labels)
    weights = tf.Variable(tf.zeros((2, 1)), name="weights")

    @tf.function
    def train_step(x: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label, x @ weights))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    trace = recorded(lambda: [train_step(drawn[at::256], labels[at::256]) for at in range(240)])
    found = tensorsleuth.diagnose(trace)
    assert not found.findings and [note.cause for note in found.notes if note.cause == "chance-loss"] == noted
