"""Classifiers that answer with one class, or never with some, and those that are only slow, rare or sure."""

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
OFFSETS = tf.constant([0.0, 0.0, 0.0, -1.0])
CAUSES = ("predictions-collapsed", "classes-never-predicted")
random = np.random.default_rng(4)
X = random.normal(size=(1024, 8)).astype("float32")
LABELS = X[:, :4].argmax(1)
SHUFFLED = random.permutation(LABELS)
RARE = np.where(X[:, 0] > 1.3, np.where(X[:, 1] > 0.4, 2, 1), 0)  # one in ten, and fewer


def told(trace: Trace) -> list[tuple[str, str]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.severity) for one in (*found.findings, *found.notes) if one.cause in CAUSES]


def fit(
    keras: Any, x: Any = X, y: Any = LABELS, steps: int = 256, rate: float = 0.01, bias: Any = "zeros", **settings: Any
) -> None:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.layers.Input(x.shape[1:]),
            keras.layers.Dense(16, "relu"),
            keras.layers.Dense(4, bias_initializer=bias, activation=settings.pop("activation", None)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(rate), settings.pop("loss", loss), **settings)
    model.fit(x, y, batch_size=64, epochs=steps * 64 // len(x), verbose=0)


def towards_one(shape: Any, dtype: Any = None) -> Any:
    return tf.constant([0.0, 9.0, 0.0, 0.0])


LOOPS: dict[str, dict[str, Any]] = {"graph": {"jit_compile": False}, "xla": {"jit_compile": True}}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("name", KERASES)
def test_inputs_that_do_not_reach_the_model(recorded: Recorded, name: str, loop: str) -> None:
    trace = recorded(lambda: fit(kerases.load(name), x=1.0 + 1e-6 * X, **LOOPS[loop]))
    assert told(trace) == [("predictions-collapsed", "error")]


@pytest.mark.parametrize("name", KERASES)
def test_one_answer_that_is_far_too_sure(recorded: Recorded, name: str) -> None:
    trace = recorded(lambda: fit(kerases.load(name), rate=1e-5, bias=towards_one))
    assert told(trace)[0] == ("predictions-collapsed", "error")


def by_hand(y: Any, function: bool, rate: float = 0.05, steps: int = 240, x: Any = X) -> None:
    tf.random.set_seed(2)
    weights = [tf.Variable(tf.random.normal((8, 16)) * 0.3), tf.Variable(tf.random.normal((16, 4)) * 0.3)]

    def step(some: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(some @ weights[0]) @ weights[1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for one, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            one.assign_sub(rate * gradient)

    run = tf.function(step) if function else step
    for at in range(steps):
        part = slice(64 * (at % 16), 64 * (at % 16) + 64)
        run(tf.constant(x[part]), tf.constant(y[part]))


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
def test_a_loop_by_hand(recorded: Recorded, function: bool) -> None:
    trace = recorded(lambda: by_hand(LABELS, function, rate=1e-3, x=1.0 + 1e-6 * X))
    assert told(trace) == [("predictions-collapsed", "error")]


def test_classes_that_are_never_predicted(recorded: Recorded) -> None:
    """One in seven labels is of a class that no input tells."""
    labels = np.where(random.random(len(X)) < 1 / 7, 3, X[:, :3].argmax(1))
    weight = tf.Variable(tf.zeros((8, 4)))

    @tf.function
    def step(some: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, some @ weight + OFFSETS))
        weight.assign_sub(0.2 * tape.gradient(loss, weight))

    def program() -> None:
        for at in range(240):
            part = slice(64 * (at % 16), 64 * (at % 16) + 64)
            step(tf.constant(X[part]), tf.constant(labels[part]))

    found = tensorsleuth.diagnose(recorded(program))
    assert [(one.cause, one.severity) for one in (*found.findings, *found.notes) if one.cause in CAUSES] == [
        ("classes-never-predicted", "note")
    ]
    assert any("never predicts class 3" in one.summary for one in found.notes)


def learned(keras: Any) -> None:
    fit(keras)


def rare_classes_that_are_learned(keras: Any) -> None:
    fit(keras, y=RARE, rate=0.03, steps=320)


def one_class_nearly_always(keras: Any) -> None:
    fit(keras, y=np.where(np.arange(len(X)) % 20, 0, 1))


def a_slow_start(keras: Any) -> None:
    fit(keras, rate=1e-4, steps=48)


def learned_by_heart(keras: Any) -> None:
    """Gradients that are exactly 0: every sample is certain, and right."""
    fit(keras, x=X * 40, rate=0.05, steps=320)


def a_teacher_without_labels(keras: Any) -> None:
    soft = tf.nn.softmax(X[:, :4]).numpy()
    fit(keras, y=soft, loss=keras.losses.CategoricalCrossentropy(from_logits=True))


def letters(keras: Any) -> None:
    """A model of sequences, in which some tokens are rare."""
    ids = np.minimum(random.geometric(0.4, size=(256, 12)), 9)
    model = keras.Sequential(
        [keras.layers.Input((12,), dtype="int32"), keras.layers.Embedding(10, 8), keras.layers.Dense(10)]
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(ids, ids, batch_size=16, epochs=8, verbose=0)


HEALTHY = [
    learned,
    rare_classes_that_are_learned,
    one_class_nearly_always,
    a_slow_start,
    learned_by_heart,
    a_teacher_without_labels,
    letters,
]


@pytest.mark.parametrize("program", HEALTHY)
@pytest.mark.parametrize("name", KERASES)
def test_nothing_is_said(recorded: Recorded, name: str, program: Callable[[Any], None]) -> None:
    assert told(recorded(lambda: program(kerases.load(name)))) == []


# ---- policies, whose labels are the actions that they have chosen


def explore(advantage: Callable[[Any, Any], Any], rate: float, function: bool, entropy: float = 0.0) -> None:
    """REINFORCE; `advantage` says what each action was worth in its state."""
    generator = np.random.default_rng(5)
    weights = [tf.Variable(tf.zeros((8, 3))), tf.Variable(tf.zeros(3))]

    def step(states: Any, actions: Any, worth: Any) -> None:
        with tf.GradientTape() as tape:
            logits = states @ weights[0] + weights[1]
            chosen = tf.nn.sparse_softmax_cross_entropy_with_logits(actions, logits)
            spread = tf.reduce_sum(tf.nn.softmax(logits) * tf.nn.log_softmax(logits), 1)
            loss = tf.reduce_mean(chosen * worth + entropy * spread)
        for one, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            one.assign_sub(rate * gradient)

    run = tf.function(step) if function else step
    for _ in range(210):
        states = generator.normal(size=(64, 8)).astype("float32")
        scores = states @ weights[0].numpy() + weights[1].numpy()
        actions = (scores + generator.gumbel(size=scores.shape)).argmax(1)
        run(tf.constant(states), tf.constant(actions), tf.constant(advantage(states, actions).astype("float32")))


def always_good(states: Any, actions: Any) -> Any:
    """One action is a little better, and all are rewarded."""
    return 20.0 + 20.0 * (actions == 1)


def good_in_its_state(states: Any, actions: Any) -> Any:
    return np.where(actions == states[:, :3].argmax(1), 1.0, -0.5)


def policies(trace: Trace) -> list[tuple[str, str]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.severity) for one in (*found.findings, *found.notes) if one.cause == "policy-collapsed"]


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
def test_a_policy_that_chooses_one_action(recorded: Recorded, function: bool) -> None:
    def program() -> None:
        explore(always_good, 0.5, function)

    assert policies(recorded(program)) == [("policy-collapsed", "note")]


@pytest.mark.parametrize("function", [False, True], ids=["eager", "function"])
def test_a_policy_that_explores_or_is_sure_for_a_reason(recorded: Recorded, function: bool) -> None:
    def program() -> None:
        explore(good_in_its_state, 2.0, function)

    assert policies(recorded(program)) == []
    assert policies(recorded(lambda: explore(always_good, 0.05, function, entropy=200.0))) == []
