"""Updates that sessions of TensorFlow 1 leave out: moving averages, and the variables of a wrong `var_list`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
v1 = tf.compat.v1
RNG = np.random.default_rng(3)
X = RNG.normal(0.0, 1.0, (32, 4, 4, 2)).astype("float32")
Y = X.mean(axis=(1, 2, 3), keepdims=False)[:, None]
STEPS = 20


def told(trace: Trace) -> list[Finding]:
    return [*tensorsleuth.diagnose(trace).findings]


# ---- batch normalisation


def by_moments(x: Any, is_training: bool) -> Any:
    with v1.variable_scope("norm", reuse=v1.AUTO_REUSE):
        moving_mean = v1.get_variable("moving_mean", [2], initializer=v1.zeros_initializer(), trainable=False)
        moving_variance = v1.get_variable("moving_variance", [2], initializer=v1.ones_initializer(), trainable=False)
        mean, variance = moving_mean, moving_variance
        if is_training:
            mean, variance = tf.nn.moments(x, [0, 1, 2])
            keep_averages(moving_mean, moving_variance, mean, variance)
        return tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)


def fused(x: Any, is_training: bool) -> Any:
    with v1.variable_scope("fused", reuse=v1.AUTO_REUSE):
        moving_mean = v1.get_variable("moving_mean", [2], initializer=v1.zeros_initializer(), trainable=False)
        moving_variance = v1.get_variable("moving_variance", [2], initializer=v1.ones_initializer(), trainable=False)
        given = {} if is_training else {"mean": moving_mean, "variance": moving_variance}
        ones, zeros = tf.ones([2]), tf.zeros([2])
        out, mean, variance = v1.nn.fused_batch_norm(x, ones, zeros, is_training=is_training, **given)
        if is_training:
            keep_averages(moving_mean, moving_variance, mean, variance)
        return out


def keep_averages(moving_mean: Any, moving_variance: Any, mean: Any, variance: Any) -> None:
    for moving, one in ((moving_mean, mean), (moving_variance, variance)):
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, v1.assign(moving, 0.9 * moving + 0.1 * one))


NORMS = {"moments": by_moments, "fused": fused}


def normalized(kind: str, runs_updates: bool = False, evaluates: bool = True, trained_mode: bool = True) -> None:
    """Train, and evaluate with the moving averages, or with the statistics of the batch."""
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, X.shape), v1.placeholder(tf.float32, Y.shape)
        weights = v1.Variable(RNG.normal(size=(32, 1)).astype("float32"))

        def loss_of(is_training: bool) -> Any:
            return tf.reduce_mean(tf.square(tf.reshape(NORMS[kind](x, is_training), [-1, 32]) @ weights - y))

        loss = loss_of(trained_mode)
        measured = loss_of(False) if evaluates else loss
        with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS) if runs_updates else []):
            train = v1.train.GradientDescentOptimizer(0.01).minimize(loss)  # optimizer
        session.run(v1.global_variables_initializer())
        for _ in range(STEPS):
            session.run([train, loss], {x: X, y: Y})
            session.run(measured, {x: X, y: Y})


@pytest.mark.parametrize("kind", NORMS)
def test_averages_that_nothing_updates(recorded: Recorded, kind: str) -> None:
    found = told(recorded(lambda: normalized(kind)))
    assert [(one.cause, one.line) for one in found] == [("moving-averages-still", marked("optimizer"))]
    assert "2 moving averages" in found[0].summary and "UPDATE_OPS" in (found[0].fix or "")


@pytest.mark.parametrize("kind", NORMS)
@pytest.mark.parametrize(
    "meant", [{"runs_updates": True}, {"evaluates": False}, {"trained_mode": False}], ids=lambda one: next(iter(one))
)
def test_averages_that_are_updated_or_not_needed(recorded: Recorded, kind: str, meant: dict[str, bool]) -> None:
    """A model that always normalises by the batch needs none; a frozen one trains with those that it has."""
    assert told(recorded(lambda: normalized(kind, **meant))) == []


# ---- two optimizers


def adversaries(of_generator: str, critics: int = 1, is_random: bool = True) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        z, real = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.float32, [None, 4])
        start = v1.random_normal_initializer() if is_random else v1.ones_initializer()
        made = [v1.get_variable("made", [4, 4], initializer=start), v1.get_variable("shift", [4])]
        judge = [v1.get_variable("judge", [4, 1], initializer=v1.random_normal_initializer())]
        fake = tf.tanh(z @ made[0]) + (made[1] if is_random else 1.0)
        of_fake, of_real = fake @ judge[0], real @ judge[0]
        loss = tf.reduce_mean(tf.nn.softplus(-of_real)) + tf.reduce_mean(tf.nn.softplus(of_fake))
        opposite = tf.reduce_mean(tf.nn.softplus(-of_fake))
        train = [v1.train.AdamOptimizer(0.01).minimize(loss, var_list=judge)]
        if critics == 1:
            own = {"judge": judge, "made": made, "all": made + judge}[of_generator]
            train.append(v1.train.AdamOptimizer(0.01).minimize(opposite, var_list=own))  # generator
        session.run(v1.global_variables_initializer())
        for _ in range(STEPS):
            fed = {z: RNG.normal(size=(32, 4)), real: np.tanh(RNG.normal(size=(32, 4)))}
            for op, value in zip(train, (loss, opposite)):
                session.run([op, value], fed)


def test_two_optimizers_of_the_same_variables(recorded: Recorded) -> None:
    (found,) = told(recorded(lambda: adversaries("judge")))
    assert (found.cause, found.line) == ("not-in-optimizer", marked("generator"))
    assert "2 variables, `made` first" in found.summary


@pytest.mark.parametrize(
    "program",
    [
        lambda: adversaries("made"),
        lambda: adversaries("all"),
        lambda: adversaries("made", critics=2),  # against random features, on purpose
        lambda: adversaries("judge", is_random=False),
    ],
    ids=["each its own", "one has all", "one optimizer", "constants"],
)
def test_optimizers_that_may_be_meant(recorded: Recorded, program: Callable[[], None]) -> None:
    assert told(recorded(program)) == []
