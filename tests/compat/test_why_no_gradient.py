"""Trainable weights whose tapes return None in every step: cut off by mistake, left out of the loss, or on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(3).normal(size=(16, 4)).astype("float32")
Y = X.sum(1, keepdims=True)
STEPS = 6
CAUSES = ("no-gradient", "not-in-loss")
Loss = Callable[[Any, Any, Any, Any], Any]


def told(trace: Trace) -> list[Finding]:
    found = tensorsleuth.diagnose(trace)
    return [one for one in (*found.findings, *found.notes) if one.cause in CAUSES]


def layers(keras: Any) -> tuple[Any, Any]:
    """A layer that may be cut off, `side`, and one that always learns, `main`."""
    side = keras.layers.Dense(3, "tanh", name="side")  # side
    main = keras.layers.Dense(1, name="main")
    side(X), main(np.ones((1, 7), "float32"))
    return side, main


def squares(prediction: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(prediction - y))


def join(main: Any, x: Any, more: Any) -> Any:
    return main(tf.concat([x, tf.cast(more, tf.float32)], 1))


def by_argmax(side: Any, main: Any, x: Any, y: Any) -> Any:
    choice = tf.argmax(side(x), 1)  # argmax
    return squares(join(main, x, tf.one_hot(choice, 3)), y)


def by_rounding(side: Any, main: Any, x: Any, y: Any) -> Any:
    return squares(join(main, x, tf.round(side(x))), y)  # rounding


def by_integers(side: Any, main: Any, x: Any, y: Any) -> Any:
    steps = tf.cast(side(x) * 10, tf.int32)  # integers
    return squares(join(main, x, steps), y)


def by_comparison(side: Any, main: Any, x: Any, y: Any) -> Any:
    return squares(join(main, x, side(x) > 0), y)  # comparison


def by_python(side: Any, main: Any, x: Any, y: Any) -> Any:
    made = tf.numpy_function(lambda some: np.sort(some, 1), [side(x)], tf.float32)  # python
    return squares(join(main, x, tf.ensure_shape(made, [16, 3])), y)


def by_array(side: Any, main: Any, x: Any, y: Any) -> Any:
    return squares(join(main, x, side(x).numpy()), y)


def as_tensor_again(side: Any, main: Any, x: Any, y: Any) -> Any:
    again = tf.constant(np.asarray(side(x)))  # array
    return squares(join(main, x, again), y)


CUTS = {
    "argmax": by_argmax,
    "rounding": by_rounding,
    "integers": by_integers,
    "comparison": by_comparison,
    "python": by_python,
}


def eagerly(keras: Any, loss: Loss, steps: int = STEPS, function: bool = False) -> None:
    side, main = layers(keras)
    weights = side.trainable_variables + main.trainable_variables
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(weights)

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            value = loss(side, main, x, y)
        update(optimizer, tape.gradient(value, weights), weights)

    run = tf.function(step) if function else step
    for _ in range(steps):
        run(tf.constant(X), tf.constant(Y))


def update(optimizer: Any, gradients: list[Any], weights: list[Any]) -> None:
    given = [(one, variable) for one, variable in zip(gradients, weights, strict=True) if one is not None]
    optimizer.apply_gradients(given)


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("cut", CUTS)
def test_an_op_that_cuts_a_layer_off(recorded: Recorded, cut: str, function: bool) -> None:
    [found] = told(recorded(lambda: eagerly(tf.keras, CUTS[cut], function=function)))
    assert (found.cause, found.severity, found.file) == ("no-gradient", "error", __file__)
    assert found.line == {name: marked(name) for name in CUTS}[cut] if cut != "argmax" else marked("argmax")
    assert "side" in found.summary and f"in each of {STEPS} steps" in found.summary
    assert any(one.line == f"{__file__}:{marked('side')}" for one in found.evidence)


@pytest.mark.parametrize("loss", [by_array, as_tensor_again])
def test_an_array_cuts_a_layer_off(recorded: Recorded, loss: Loss) -> None:
    [found] = told(recorded(lambda: eagerly(tf.keras, loss)))
    assert (found.cause, found.severity) == ("no-gradient", "error") and "NumPy array" in found.summary
    if loss is as_tensor_again:
        assert found.line == marked("array")


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
def test_a_layer_that_runs_before_the_tape(recorded: Recorded, function: bool) -> None:
    keras = tf.keras

    def program() -> None:
        side, main = layers(keras)
        weights, optimizer = side.trainable_variables + main.trainable_variables, keras.optimizers.SGD(0.01)
        optimizer.build(weights)

        def step(x: Any, y: Any) -> None:
            made = side(x)  # before
            with tf.GradientTape() as tape:
                value = squares(join(main, x, made), y)
            update(optimizer, tape.gradient(value, weights), weights)

        run = tf.function(step) if function else step
        for _ in range(STEPS):
            run(tf.constant(X), tf.constant(Y))

    [found] = told(recorded(program))
    assert (found.cause, found.line) == ("no-gradient", marked("before")) and "outside of the tape" in found.summary


def unused(side: Any, main: Any, x: Any, y: Any) -> Any:
    side(x)
    return squares(join(main, x, x[:, :3]), y)


def only_its_shape(side: Any, main: Any, x: Any, y: Any) -> Any:
    return squares(join(main, x, tf.ones(tf.shape(side(x)))), y)


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("loss", [unused, only_its_shape])
def test_a_layer_that_the_loss_does_not_use_is_a_note(recorded: Recorded, loss: Loss, function: bool) -> None:
    [found] = told(recorded(lambda: eagerly(tf.keras, loss, function=function)))
    assert (found.cause, found.severity, found.line) == ("not-in-loss", "note", marked("side"))


def fitted(keras: Any, cut: Callable[[Any], Any], **settings: Any) -> None:
    class Rounded(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return cut(x)

    x = keras.Input((4,))
    side = Rounded()(keras.layers.Dense(3, "tanh", name="side")(x))
    model = keras.Model(x, keras.layers.Dense(1, name="main")(keras.layers.Concatenate()([x, side])))
    model.compile(keras.optimizers.SGD(0.01), "mse", **settings)
    model.fit(X, Y, batch_size=4, epochs=3, verbose=0)


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("settings", [{}, {"run_eagerly": True}, {"jit_compile": True}], ids=["fit", "eager", "xla"])
@pytest.mark.parametrize("name", KERASES)
def test_a_layer_of_a_model_that_fit_trains(recorded: Recorded, name: str, settings: dict[str, Any]) -> None:
    keras = kerases.load(name)
    [found] = told(recorded(lambda: fitted(keras, lambda x: tf.round(x), **settings)))  # round
    assert (found.cause, found.severity, found.line) == ("no-gradient", "error", marked("round"))
    assert told(recorded(lambda: fitted(keras, lambda x: x + tf.stop_gradient(tf.round(x) - x), **settings))) == []


# ---- on purpose, or for a while


def a_head_behind_a_stop(keras: Any) -> None:
    def loss(side: Any, main: Any, x: Any, y: Any) -> Any:
        return squares(join(main, x, tf.stop_gradient(side(x))), y)

    eagerly(keras, loss)
    eagerly(keras, loss, function=True)


def a_view_of_what_is_stopped(keras: Any) -> None:
    def loss(side: Any, main: Any, x: Any, y: Any) -> Any:
        return squares(join(main, x, tf.reshape(tf.stop_gradient(side(x)), [16, 3])), y)

    eagerly(keras, loss, function=True)


def a_straight_through_estimator(keras: Any) -> None:
    def loss(side: Any, main: Any, x: Any, y: Any) -> Any:
        made = side(x)
        return squares(join(main, x, made + tf.stop_gradient(tf.round(made) - made)), y)

    eagerly(keras, loss)


def frozen_layers(keras: Any) -> None:
    side, main = layers(keras)
    side.trainable = False
    weights, optimizer = side.trainable_variables + main.trainable_variables, keras.optimizers.SGD(0.01)
    for _ in range(STEPS):
        made = side(X)
        with tf.GradientTape() as tape:
            value = squares(join(main, X, made), Y)
        update(optimizer, tape.gradient(value, weights), weights)


def two_who_play(keras: Any) -> None:
    """A GAN, each of whose tapes is asked about the weights of both."""
    maker, judge = keras.layers.Dense(4), keras.layers.Dense(1)
    judge(maker(X))
    weights = maker.trainable_variables + judge.trainable_variables
    optimizers = [keras.optimizers.SGD(0.01), keras.optimizers.SGD(0.01)]
    for optimizer in optimizers:
        optimizer.build(weights)
    for _ in range(STEPS):
        made = maker(X)
        with tf.GradientTape() as tape:
            loss = squares(judge(made), 0.0) + squares(judge(X), 1.0)
        update(optimizers[0], tape.gradient(loss, weights), weights)
        with tf.GradientTape() as tape:
            loss = squares(judge(maker(X)), 1.0)
        update(optimizers[1], tape.gradient(loss, weights), weights)


def a_target_network(keras: Any) -> None:
    """DQN: the greedy action comes of an argmax, and the old network follows now and then."""
    (body, head), (old_body, old_head) = layers(keras), layers(keras)
    weights, optimizer = body.trainable_variables + head.trainable_variables, keras.optimizers.SGD(0.01)
    everything = weights + old_body.trainable_variables + old_head.trainable_variables
    for at in range(STEPS):
        value = tf.reduce_max(join(old_head, X, old_body(X)), 1, keepdims=True)
        with tf.GradientTape() as tape:
            loss = squares(join(head, X, body(X)), 0.9 * value + 1)
        update(optimizer, tape.gradient(loss, everything)[: len(weights)], weights)
        if at % 2:
            for new, old in zip(weights, everything[len(weights) :], strict=True):
                old.assign(new)


def several_heads_one_after_the_other(keras: Any) -> None:
    """Each loss has a tape, and each tape is asked about all weights."""
    side, main = layers(keras)
    weights, optimizer = side.trainable_variables + main.trainable_variables, keras.optimizers.SGD(0.01)
    optimizer.build(weights)
    for at in range(STEPS):
        with tf.GradientTape() as tape:
            loss = squares(main(tf.ones((1, 7))), 1.0) if at < 4 else squares(side(X), 0.0)
        update(optimizer, tape.gradient(loss, weights), weights)


def a_table_that_is_averaged(keras: Any) -> None:
    """VQ-VAE: an argmax looks the table up, and a running mean trains it."""
    table, weight = tf.Variable(tf.random.normal((5, 4))), tf.Variable(tf.random.normal((4, 1)))
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            code = tf.argmin(tf.reduce_sum(tf.square(tf.constant(X)[:, None] - table), 2), 1)
            loss = squares(X @ weight, tf.cast(code, tf.float32)[:, None])
        update(keras.optimizers.SGD(0.01), tape.gradient(loss, [table, weight]), [table, weight])
        table.assign(table * 0.9)


def a_short_trial(keras: Any) -> None:
    eagerly(keras, by_argmax, steps=2)


PURPOSES = [
    a_head_behind_a_stop,
    a_view_of_what_is_stopped,
    a_straight_through_estimator,
    frozen_layers,
    two_who_play,
    a_target_network,
    several_heads_one_after_the_other,
    a_table_that_is_averaged,
    a_short_trial,
]


@pytest.mark.parametrize("program", PURPOSES)
@pytest.mark.parametrize("name", KERASES)
def test_nothing_is_said(recorded: Recorded, name: str, program: Callable[[Any], None]) -> None:
    keras = kerases.load(name)
    assert told(recorded(lambda: program(keras))) == []
