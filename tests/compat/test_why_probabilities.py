"""Probabilities that a loss takes for logits, and the reverse, in loops that run op by op."""

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
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = np.random.default_rng(0).normal(size=(128, 8)).astype("float32")
CLASSES = X[:, :3].argmax(1)
ONE_HOT = np.eye(3, dtype="float32")[CLASSES]
BINARY = (X[:, :1] > 0).astype("float32")
CAUSES = ("probabilities-as-logits", "logits-as-probabilities")
Loss = Callable[[Any, Any], Any]


def told(trace: Trace) -> list[tuple[str, str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.severity, one.line) for one in (*found.findings, *found.notes) if one.cause in CAUSES]


def net(keras: Any, units: int, *ends: Any) -> Any:
    hidden = keras.layers.Dense(16, "relu")
    return keras.Sequential([keras.layers.Input((8,)), hidden, keras.layers.Dense(units), *ends])


def train(keras: Any, model: Any, loss: Loss, labels: Any, function: bool = False) -> None:
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            value = tf.reduce_mean(loss(y, model(x)))  # loss
        optimizer.apply_gradients(
            zip(tape.gradient(value, model.trainable_variables), model.trainable_variables, strict=True)
        )

    run = tf.function(step) if function else step
    for at in range(8):
        run(tf.constant(X[16 * at : 16 * at + 16]), tf.constant(labels[16 * at : 16 * at + 16]))


def softmax_twice(keras: Any, function: bool) -> None:
    def loss(y: Any, output: Any) -> Any:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(y, output)  # softmax twice

    train(keras, net(keras, 3, keras.layers.Softmax()), loss, CLASSES, function)


def softmax_twice_and_reshaped(keras: Any, function: bool) -> None:
    def loss(y: Any, output: Any) -> Any:
        return tf.nn.softmax_cross_entropy_with_logits(y, output)  # reshaped

    train(keras, net(keras, 3, keras.layers.Softmax(), keras.layers.Reshape((3,))), loss, ONE_HOT, function)


def sigmoid_twice(keras: Any, function: bool) -> None:
    def loss(y: Any, output: Any) -> Any:
        return tf.nn.sigmoid_cross_entropy_with_logits(y, output)  # sigmoid twice

    train(keras, net(keras, 1, keras.layers.Activation("sigmoid")), loss, BINARY, function)


def no_softmax(keras: Any, function: bool) -> None:
    crossentropy = keras.losses.SparseCategoricalCrossentropy()
    train(keras, net(keras, 3), lambda y, output: crossentropy(y, output), CLASSES, function)  # no softmax


def no_softmax_of_shares(keras: Any, function: bool) -> None:
    crossentropy = keras.losses.CategoricalCrossentropy()
    train(keras, net(keras, 3), lambda y, output: crossentropy(y, output), ONE_HOT, function)  # no shares


def no_sigmoid(keras: Any, function: bool) -> None:
    crossentropy = keras.losses.BinaryCrossentropy()
    train(keras, net(keras, 1), lambda y, output: crossentropy(y, output), BINARY, function)  # no sigmoid


ILLS: dict[Callable[[Any, bool], None], str] = {
    softmax_twice: "softmax twice",
    softmax_twice_and_reshaped: "reshaped",
    sigmoid_twice: "sigmoid twice",
    no_softmax: "no softmax",
    no_softmax_of_shares: "no shares",
    no_sigmoid: "no sigmoid",
}


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("program", ILLS)
@pytest.mark.parametrize("name", KERASES)
def test_a_loss_that_takes_the_other(
    recorded: Recorded, name: str, program: Callable[[Any, bool], None], function: bool
) -> None:
    [(cause, severity, line)] = told(recorded(lambda: program(kerases.load(name), function)))
    assert (cause, severity) == (CAUSES["twice" not in program.__name__], "error")
    lines = {mark: marked_here(mark) for mark in ILLS.values()}
    assert line == lines[ILLS[program]]


def marked_here(mark: str) -> int:
    return {
        "softmax twice": marked("softmax twice"),
        "reshaped": marked("reshaped"),
        "sigmoid twice": marked("sigmoid twice"),
        "no softmax": marked("no softmax"),
        "no shares": marked("no shares"),
        "no sigmoid": marked("no sigmoid"),
    }[mark]


@pytest.mark.parametrize("name", KERASES)
def test_fit_that_runs_op_by_op(recorded: Recorded, name: str) -> None:
    keras = kerases.load(name)

    def program() -> None:
        model = net(keras, 3)
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(), run_eagerly=True)
        model.fit(X, CLASSES, batch_size=16, verbose=0)

    [(cause, severity, _)] = told(recorded(program))
    assert (cause, severity) == ("logits-as-probabilities", "error")


def right_probabilities(keras: Any) -> None:
    for loss, labels in (
        (keras.losses.SparseCategoricalCrossentropy(), CLASSES),
        (keras.losses.CategoricalCrossentropy(), ONE_HOT),
    ):
        train(keras, net(keras, 3, keras.layers.Softmax()), loss, labels)
    train(keras, net(keras, 1, keras.layers.Activation("sigmoid")), keras.losses.BinaryCrossentropy(), BINARY)


def right_logits(keras: Any) -> None:
    train(keras, net(keras, 3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), CLASSES)
    train(keras, net(keras, 1), keras.losses.BinaryCrossentropy(from_logits=True), BINARY)


def a_softmax_layer_whose_logits_keras_takes(keras: Any) -> None:
    model = net(keras, 3, keras.layers.Softmax())
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(X, CLASSES, batch_size=16, verbose=0)


def a_teacher(keras: Any) -> None:
    """Its probabilities are the labels."""
    teacher = net(keras, 3, keras.layers.Softmax())
    soft = np.array(teacher(X))
    train(keras, net(keras, 3), lambda y, output: tf.nn.softmax_cross_entropy_with_logits(y, output), soft)


def a_regression_of_logarithms(keras: Any) -> None:
    def loss(y: Any, output: Any) -> Any:
        return tf.square(tf.math.log(tf.clip_by_value(output * 3 + 4, 1e-7, 1e6)) - y)

    train(keras, net(keras, 1), loss, BINARY)


@pytest.mark.filterwarnings("ignore:.*from_logits=True")
@pytest.mark.parametrize(
    "program",
    [
        right_probabilities,
        right_logits,
        a_softmax_layer_whose_logits_keras_takes,
        a_teacher,
        a_regression_of_logarithms,
    ],
)
@pytest.mark.parametrize("name", KERASES)
def test_nothing_is_said(recorded: Recorded, name: str, program: Callable[[Any], None]) -> None:
    assert told(recorded(lambda: program(kerases.load(name)))) == []
