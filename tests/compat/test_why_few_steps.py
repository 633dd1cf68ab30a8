"""Short and eager training: told by what was seen, unclear if that is too little, healthy if it learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.training_loops import KINDS, Training, X, Y, descend, drawn, squares, two_layers

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
random = np.random.default_rng(8)


def diagnosis(recorded: Recorded, program: Callable[[], Any]) -> Diagnosis:
    tf.keras.utils.set_random_seed(3)
    return tensorsleuth.diagnose(recorded(program))


def causes(found: Diagnosis) -> list[tuple[str, str]]:
    return [(one.cause, one.severity) for one in (*found.findings, *found.notes)]


# ---- gradients that are 0 from the first step on


def signs(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(tf.sign(two_layers(weights, x)) - y))


def clipped(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(tf.clip_by_value(two_layers(weights, x), 7.0, 9.0) - y))


def switched_off(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(tf.nn.relu(two_layers(weights, x) - 50.0) - y))


@pytest.mark.parametrize("kind", ["eager", "function"])
@pytest.mark.parametrize("loss", [signs, clipped, switched_off])
def test_gradients_that_are_zero_from_the_first_step_on(recorded: Recorded, loss: Any, kind: str) -> None:
    found = diagnosis(recorded, lambda: KINDS[kind](Training(loss, steps=10)))
    assert [one.cause for one in found.findings] == ["zero-gradients"]


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_a_hinge_that_is_met_for_a_while(recorded: Recorded, kind: str) -> None:
    """All is right at first: the loss is 0, and so are the gradients."""

    def hinge(weights: list[Any], x: Any, y: Any) -> Any:
        return tf.reduce_mean(tf.nn.relu(tf.abs(two_layers(weights, x) - y) - 20.0))

    assert causes(diagnosis(recorded, lambda: KINDS[kind](Training(hinge, steps=10)))) == []


def test_updates_that_begin_later(recorded: Recorded) -> None:
    """Gradients are gathered over eight steps."""
    weights = [tf.Variable(make()) for make in Training().make]
    gathered = [tf.Variable(tf.zeros_like(one), trainable=False) for one in weights]

    @tf.function
    def step(x: Any, y: Any, apply: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = squares(weights, x, y)
        for total, gradient in zip(gathered, tape.gradient(loss, weights), strict=True):
            total.assign_add(gradient / 8)
        if apply:
            for one, total in zip(weights, gathered, strict=True):
                one.assign_sub(0.05 * total)
                total.assign(tf.zeros_like(total))
        return loss

    def program() -> None:
        for at in range(10):
            step(tf.constant(X[:16]), tf.constant(Y[:16]), tf.constant(at == 7))

    assert "zero-gradients" not in [cause for cause, _ in causes(diagnosis(recorded, program))]


# ---- a loss that is that of a guess


def classify(steps: int, kind: str, learns: bool, rate: float = 0.5) -> None:
    x = random.normal(size=(steps, 32, 8)).astype("float32")
    y = x[:, :, :4].argmax(2) if learns else random.integers(0, 4, (steps, 32))
    weights = [tf.Variable(drawn(8, 4)()), tf.Variable(tf.zeros(4))]
    if not learns:
        weights[0].assign(weights[0] * 0.1)

    def step(some: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = some @ weights[0] + weights[1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for one, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            one.assign_sub(rate * gradient)
        return loss

    run = tf.function(step) if kind == "function" else step
    for at in range(steps):
        run(tf.constant(x[at]), tf.constant(y[at]))


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_labels_that_no_input_tells(recorded: Recorded, kind: str) -> None:
    found = diagnosis(recorded, lambda: classify(240, kind, False, rate=0.02))
    assert ("chance-loss", "note") in causes(found)


@pytest.mark.parametrize("kind", ["eager", "function"])
def test_too_few_steps_at_the_loss_of_a_guess_are_unclear(recorded: Recorded, kind: str) -> None:
    found = diagnosis(recorded, lambda: classify(60, kind, False, rate=0.02))
    assert (found.verdict, found.findings) == ("unknown", ())
    assert any("of a guess among 4 classes" in one.what for one in found.unclear)


@pytest.mark.parametrize("steps", [12, 60, 240])
@pytest.mark.parametrize("kind", ["eager", "function"])
def test_what_learns_is_healthy(recorded: Recorded, kind: str, steps: int) -> None:
    found = diagnosis(recorded, lambda: classify(steps, kind, True))
    assert (found.verdict, causes(found)) == ("healthy", [])


# ---- a loss that rises


def one_layer(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(x @ weights[0] + weights[1] - y))


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_that_climbs_step_by_step(recorded: Recorded, kind: str) -> None:
    """The sign of the update is wrong."""
    training = Training(one_layer, descend(-0.04), make=(drawn(8, 1), drawn(1)))
    found = diagnosis(recorded, lambda: KINDS[kind](training))
    assert ("loss-rose", "note") in causes(found)


def test_a_loss_that_only_varies(recorded: Recorded) -> None:
    def noisy(weights: list[Any], x: Any, y: Any) -> Any:
        return squares(weights, x, y) * tf.random.uniform((), 0.5, 2.0)

    found = diagnosis(recorded, lambda: KINDS["function"](Training(noisy, update=descend(1e-4), steps=24)))
    assert "loss-rose" not in [cause for cause, _ in causes(found)]
