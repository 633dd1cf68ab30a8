"""Weights that no tape is asked about in eager code: left out by mistake, or kept as they are on purpose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.recording.tensorflow import internals as private_tf
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
NOT_ON_2_15 = pytest.mark.skipif(
    private_tf.version() < (2, 16), reason="of eager loops on TensorFlow 2.15 nothing is said; docs/transformers.md"
)
X = tf.constant(np.random.default_rng(12).normal(size=(16, 4)).astype("float32"))
STEPS = 12


def found(trace: Trace) -> list[Finding]:
    return [one for one in tensorsleuth.diagnose(trace).findings if one.cause == "not-in-optimizer"]


def parts(keras: Any) -> tuple[Any, Any]:
    """A body and a head, built, so that both may be changed before they are trained."""
    body, head = keras.layers.Dense(8, "tanh", name="body"), keras.layers.Dense(1, name="head")
    head(body(X))
    return body, head


def train(keras: Any, loss: Callable[[], Any], weights: list[Any], steps: int = STEPS) -> None:
    optimizer = keras.optimizers.SGD(0.01)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = loss()
        optimizer.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))  # updates


def far(y: Any) -> Any:
    return tf.reduce_mean(tf.square(y - X[:, :1]))


@NOT_ON_2_15
@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("name", KERASES)
def test_a_layer_that_is_left_out(recorded: Recorded, name: str, late: bool) -> None:
    """The last layer, through which gradients go, or the first, to which none get."""
    keras = kerases.load(name)

    def program() -> None:
        body, head = parts(keras)
        train(keras, lambda: far(head(body(X))), (body if late else head).trainable_variables)
        far(head(body(X)))  # a later evaluation does not remove the finding

    [finding] = found(recorded(program))
    lines = Path(__file__).read_text().splitlines()
    assert "# updates" in lines[(finding.line or 0) - 1]
    assert ("head" if late else "body") in finding.summary
    assert f"in {STEPS} steps" in finding.summary


@NOT_ON_2_15
@pytest.mark.parametrize("name", KERASES)
def test_a_layer_that_fit_does_not_track(recorded: Recorded, name: str) -> None:
    keras = kerases.load(name)

    class Hidden(keras.layers.Layer):  # type: ignore[name-defined]
        def call(self, x: Any) -> Any:
            return OUTSIDE[0](x)

    def program() -> None:
        OUTSIDE[:] = [keras.layers.Dense(4, name="outside")]
        OUTSIDE[0](X)
        model = keras.Sequential([keras.layers.Input((4,)), Hidden(), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        model.fit(X, X[:, :1], batch_size=4, epochs=4, verbose=0)

    [finding] = found(recorded(program))
    assert "outside" in finding.summary


OUTSIDE: list[Any] = []


def a_frozen_layer(keras: Any) -> None:
    body, head = parts(keras)
    body.trainable = False
    train(keras, lambda: far(head(body(X))), head.trainable_variables)


def a_layer_in_a_frozen_model(keras: Any) -> None:
    body, head = parts(keras)
    model = keras.Sequential([keras.layers.Input((4,)), body])
    model.trainable = False
    train(keras, lambda: far(head(model(X))), model.trainable_variables + head.trainable_variables)


def variables_that_are_fixed(keras: Any) -> None:
    directions = tf.Variable(tf.random.normal((4, 8)), trainable=False)
    head = keras.layers.Dense(1)
    head(X @ directions)
    train(keras, lambda: far(head(X @ directions)), head.trainable_variables)


def weights_that_were_loaded(keras: Any) -> None:
    body, head = parts(keras)
    body.set_weights([weights * 0.5 for weights in body.get_weights()])
    train(keras, lambda: far(head(body(X))), head.trainable_variables)


def a_random_target(keras: Any) -> None:
    body, head = parts(keras)
    other = keras.layers.Dense(1)
    other(X)
    weights = body.trainable_variables + head.trainable_variables
    train(keras, lambda: tf.reduce_mean(tf.square(head(body(X)) - tf.stop_gradient(other(X)))), weights)


def a_choice_that_has_no_gradient(keras: Any) -> None:
    body, head = parts(keras)
    hashing = tf.Variable(tf.random.normal((4, 2)))
    weights = body.trainable_variables + head.trainable_variables
    train(keras, lambda: far(head(body(X)) * tf.cast(tf.argmax(X @ hashing, 1), tf.float32)[:, None]), weights)


def a_model_that_is_only_asked(keras: Any) -> None:
    """Beside the loss, before the tape, and after it."""
    body, head = parts(keras)
    other = keras.layers.Dense(3)

    def loss() -> Any:
        tf.reduce_max(other(X))
        return far(head(body(X)))

    other(X)
    train(keras, loss, body.trainable_variables + head.trainable_variables)
    other(X)


def a_target_network(keras: Any) -> None:
    """Its values go into the loss without tf.stop_gradient, and it follows now and then."""
    (body, head), (old_body, old_head) = parts(keras), parts(keras)
    weights = body.trainable_variables + head.trainable_variables
    for _ in range(3):
        train(keras, lambda: far(head(body(X)) - 0.9 * old_head(old_body(X))), weights)
        old_body.set_weights(body.get_weights())
        old_head.set_weights(head.get_weights())


def two_who_play(keras: Any) -> None:
    """A GAN: each goes through the other's loss, and has an optimizer of its own."""
    maker, judge = parts(keras)
    optimizers = [keras.optimizers.SGD(0.01), keras.optimizers.SGD(0.01)]
    for _ in range(STEPS):
        for optimizer, layer, sign in zip(optimizers, (maker, judge), (1.0, -1.0), strict=True):
            with tf.GradientTape() as tape:
                loss = sign * far(judge(maker(X)))
            weights = layer.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))


def first_one_then_the_other(keras: Any) -> None:
    body, head = parts(keras)
    train(keras, lambda: far(head(body(X))), head.trainable_variables)
    train(keras, lambda: far(head(body(X))), body.trainable_variables, 1)


def an_input_that_is_changed(keras: Any) -> None:
    """A picture for a model that nobody trains: no weights are meant to be."""
    body, head = parts(keras)
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            tape.watch(X)
            loss = far(head(body(X)))
        tape.gradient(loss, X)


def a_variable_that_was_chosen(keras: Any) -> None:
    """Random features, and what is learned of them, asked for by its name."""
    kernel = tf.Variable(tf.random.normal((4, 8)))
    score = tf.Variable(tf.random.normal((8, 1)))
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = far(tf.tanh(X @ kernel) @ score)
        score.assign_sub(0.1 * tape.gradient(loss, score))


HEALTHY = [
    a_frozen_layer,
    a_layer_in_a_frozen_model,
    variables_that_are_fixed,
    weights_that_were_loaded,
    a_random_target,
    a_choice_that_has_no_gradient,
    a_model_that_is_only_asked,
    a_target_network,
    two_who_play,
    first_one_then_the_other,
    an_input_that_is_changed,
    a_variable_that_was_chosen,
]


@pytest.mark.parametrize("program", HEALTHY)
@pytest.mark.parametrize("name", KERASES)
def test_nothing_is_said(recorded: Recorded, name: str, program: Callable[[Any], None]) -> None:
    keras = kerases.load(name)
    assert found(recorded(lambda: program(keras))) == []
