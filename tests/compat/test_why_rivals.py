"""Two updates of the same variables, and models that are fit while they are frozen."""

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
v1 = tf.compat.v1
RNG = np.random.default_rng(5)
REAL = np.tanh(RNG.normal(size=(32, 4))).astype("float32") + 1.0
STEPS = 14


def told(trace: Trace) -> list[Finding]:
    kinds = ("not-in-optimizer", "model-frozen")
    return [one for one in tensorsleuth.diagnose(trace).findings if one.cause in kinds]


class Adversaries:
    """A generator and a discriminator of two layers, with their losses."""

    def __init__(self, is_random: bool = True) -> None:
        first = tf.random.normal if is_random else tf.ones
        self.generator = [tf.Variable(first((4, 8))), tf.Variable(first((8, 4)))]
        self.judge = [tf.Variable(tf.random.normal((4, 8))), tf.Variable(tf.random.normal((8, 1)))]
        self.rates = [tf.Variable(0.01), tf.Variable(0.01)]

    def made(self, z: Any) -> Any:
        return tf.nn.relu(z @ self.generator[0]) @ self.generator[1]

    def judged(self, x: Any) -> Any:
        return tf.tanh(x @ self.judge[0]) @ self.judge[1]

    def real_loss(self, x: Any, z: Any) -> Any:
        both = tf.concat([self.judged(self.made(z)), -self.judged(x)], 0)
        return tf.reduce_mean(tf.nn.softplus(both))

    def fooled_loss(self, z: Any) -> Any:
        return tf.reduce_mean(tf.nn.softplus(-self.judged(self.made(z))))


def apply(variables: list[Any], gradients: list[Any]) -> None:
    for variable, gradient in zip(variables, gradients, strict=True):
        variable.assign_sub(0.01 * gradient)


def descend(tape: Any, loss: Any, variables: list[Any]) -> list[Any]:
    return [0.01 * one for one in tape.gradient(loss, variables)]


def steps_of(parts: Adversaries, own: list[Any], in_one: bool) -> Callable[[Any, Any], None]:
    def judge_step(x: Any, z: Any) -> None:
        with tf.GradientTape() as tape:
            loss = parts.real_loss(x, z)
        gradients = tape.gradient(loss, parts.judge)
        [one.assign_sub(0.01 * by) for one, by in zip(parts.judge, gradients, strict=True)]  # judge

    def generator_step(z: Any) -> None:
        with tf.GradientTape() as tape:
            loss = parts.fooled_loss(z)
        gradients = tape.gradient(loss, own)
        [one.assign_sub(0.01 * by) for one, by in zip(own, gradients, strict=True)]  # generator

    def both(x: Any, z: Any) -> None:
        judge_step(x, z)
        generator_step(z)

    if in_one:
        return tf.function(both)  # type: ignore[no-any-return]
    first, second = tf.function(judge_step), tf.function(generator_step)

    def apart(x: Any, z: Any) -> None:
        first(x, z)
        second(z)

    return apart


def trained(of_generator: str, in_one: bool = True, is_random: bool = True) -> None:
    parts = Adversaries(is_random)
    own = {"judge": parts.judge, "generator": parts.generator, "all": parts.generator + parts.judge}[of_generator]
    step = steps_of(parts, own, in_one)
    for _ in range(STEPS):
        step(tf.constant(REAL), tf.random.normal((32, 4)))


@pytest.mark.parametrize("in_one", [True, False], ids=["one function", "two functions"])
def test_the_generators_step_trains_the_judge(recorded: Recorded, in_one: bool) -> None:
    (found,) = told(recorded(lambda: trained("judge", in_one)))
    assert (found.cause, found.line) == ("not-in-optimizer", marked("generator"))
    assert f"line {marked('judge')}" in found.summary and found.confidence >= 0.9


@pytest.mark.parametrize("of_generator", ["generator", "all"])
def test_each_step_trains_its_own(recorded: Recorded, of_generator: str) -> None:
    assert told(recorded(lambda: trained(of_generator))) == []


def test_a_generator_of_constants_may_be_meant(recorded: Recorded) -> None:
    assert told(recorded(lambda: trained("judge", is_random=False))) == []


def two_views() -> None:
    """Two losses of the same layer behind a table that nothing trains; either line may be the wrong one."""
    table, head = tf.Variable(tf.random.normal((4, 8))), tf.Variable(tf.random.normal((8, 1)))

    @tf.function
    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ table @ head))
        head.assign_sub(0.001 * tape.gradient(loss, head))  # first view
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(y @ table @ head - 1.0))
        head.assign_sub(0.001 * tape.gradient(loss, head))  # second view

    for _ in range(STEPS):
        step(tf.constant(REAL), tf.constant(REAL * 2.0))


def test_two_lines_of_which_either_may_be_wrong(recorded: Recorded) -> None:
    (found,) = told(recorded(two_views))
    assert found.line == marked("second view") and found.confidence < 0.9
    assert f"line {marked('first view')}" in found.summary


def clipped(trains_generator: bool) -> None:
    """Clip the judge's weights in a line of its own, as a Wasserstein GAN does."""
    parts = Adversaries()

    @tf.function
    def step(x: Any, z: Any) -> None:
        with tf.GradientTape() as tape:
            loss = parts.real_loss(x, z)
        apply(parts.judge, tape.gradient(loss, parts.judge))
        [one.assign(tf.clip_by_value(one, -1.0, 1.0)) for one in parts.judge]  # clip
        with tf.GradientTape() as tape:
            loss = parts.fooled_loss(z)
        if trains_generator:
            apply(parts.generator, tape.gradient(loss, parts.generator))

    for _ in range(STEPS):
        step(tf.constant(REAL), tf.random.normal((32, 4)))


@pytest.mark.parametrize("trains_generator", [True, False])
def test_a_line_that_clips_is_no_rival(recorded: Recorded, trains_generator: bool) -> None:
    found = told(recorded(lambda: clipped(trains_generator)))
    assert [one.line == marked("clip") for one in found] == ([] if trains_generator else [False])


def session_of(of_generator: str) -> None:
    """Run both updates in one call of a session."""
    with tf.Graph().as_default(), v1.Session() as session:
        z, real = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.float32, [None, 4])
        start = v1.random_normal_initializer()
        made = [v1.get_variable("made", [4, 4], initializer=start)]
        judge = [v1.get_variable("judge", [4, 1], initializer=start)]
        fake = tf.tanh(z @ made[0])
        loss = tf.reduce_mean(tf.nn.softplus(tf.concat([fake @ judge[0], -(real @ judge[0])], 0)))
        opposite = tf.reduce_mean(tf.nn.softplus(-(fake @ judge[0])))
        own = {"judge": judge, "generator": made}[of_generator]
        train = [v1.train.AdamOptimizer(0.01).minimize(opposite, var_list=own)]  # of session
        train.append(v1.train.AdamOptimizer(0.01).minimize(loss, var_list=judge))
        session.run(v1.global_variables_initializer())
        for _ in range(STEPS):
            session.run([train, loss], {z: RNG.normal(size=(32, 4)), real: REAL})


@pytest.mark.parametrize("of_generator", ["judge", "generator"])
def test_two_optimizers_in_one_run_of_a_session(recorded: Recorded, of_generator: str) -> None:
    found = told(recorded(lambda: session_of(of_generator)))
    assert [one.line for one in found] == ([marked("of session")] if of_generator == "judge" else [])


# ---- models that are fit while they are frozen


def judge_of(keras: Any) -> Any:
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])


def combined(keras: Any, judge: Any, optimizer: Any) -> tuple[Any, Any]:
    generator = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(4)])
    z = keras.layers.Input((4,))
    whole = keras.Model(z, judge(generator(z)))
    whole.compile(optimizer, "mse")
    return generator, whole


def fit_both(keras: Any, judge: Any) -> None:
    _, whole = combined(keras, judge, keras.optimizers.SGD(0.01))
    for _ in range(STEPS):
        judge.train_on_batch(REAL, np.ones((32, 1)))  # fit judge
        whole.train_on_batch(RNG.normal(size=(32, 4)), np.zeros((32, 1)))


def frozen_first(keras: Any) -> None:
    judge = judge_of(keras)
    judge.trainable = False
    judge.compile(keras.optimizers.SGD(0.01), "mse")
    fit_both(keras, judge)


def frozen_here(keras: Any) -> None:
    critic = judge_of(keras)
    critic.trainable = False  # freeze
    critic.compile(keras.optimizers.SGD(0.01), "mse")
    _, whole = combined(keras, critic, keras.optimizers.SGD(0.01))
    for _ in range(STEPS):
        critic.train_on_batch(REAL, np.ones((32, 1)))
        whole.train_on_batch(RNG.normal(size=(32, 4)), np.zeros((32, 1)))


def frozen_by_layer(keras: Any) -> None:
    judge = judge_of(keras)
    for layer in judge.layers:
        layer.trainable = False
    judge.compile(keras.optimizers.SGD(0.01), "mse")
    judge.fit(REAL, np.ones((32, 1)), batch_size=4, epochs=3, verbose=0)  # fit frozen


def half_frozen(keras: Any) -> None:
    """Train the last layer on random features, as people do on purpose."""
    judge = judge_of(keras)
    judge.layers[0].trainable = False
    judge.compile(keras.optimizers.SGD(0.01), "mse")
    judge.fit(REAL, np.ones((32, 1)), batch_size=4, epochs=3, verbose=0, validation_split=0.5)


def frozen_later(keras: Any) -> None:
    """Freeze the judge for the combined model only; Keras 3 takes what is trainable at the first step."""
    judge = judge_of(keras)
    judge.compile(keras.optimizers.SGD(0.01), "mse")
    judge.train_on_batch(REAL, np.ones((32, 1)))
    judge.trainable = False
    fit_both(keras, judge)


FROZEN: dict[str, tuple[Callable[[Any], None], str | None]] = {
    "before compile": (frozen_here, "freeze"),
    "before compile, elsewhere": (frozen_first, "fit judge"),
    "layer by layer": (frozen_by_layer, "fit frozen"),
    "a half": (half_frozen, None),
    "after compile": (frozen_later, None),
}


@pytest.mark.filterwarnings("ignore:The model does not have any trainable")
@pytest.mark.parametrize("program", FROZEN)
@pytest.mark.parametrize("name", KERASES)
def test_a_model_that_is_fit_while_frozen(recorded: Recorded, name: str, program: str) -> None:
    run, mark = FROZEN[program]
    keras = kerases.load(name)
    found = told(recorded(lambda: run(keras)))
    assert [(one.cause, one.line) for one in found] == ([("model-frozen", marked(mark))] if mark else [])
