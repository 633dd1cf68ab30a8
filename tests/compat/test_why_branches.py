"""Dropout in a branch that a placeholder chooses: a session that evaluates runs the other one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.sessions import control_flow_v1, session

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
v1 = tf.compat.v1
X = np.random.default_rng(3).normal(size=(32, 4)).astype("float32")


def train(measured_with: bool) -> None:
    with session() as opened:
        x, training = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.bool, None)
        kernel = v1.get_variable("kernel", [4, 8])
        hidden = tf.nn.relu(x @ kernel)
        dropped = tf.cond(training, lambda: tf.nn.dropout(hidden, rate=0.5), lambda: hidden)
        output = dropped @ v1.get_variable("last", [8, 1])
        loss = tf.reduce_mean(tf.square(output - x[:, :1]))
        update = v1.train.AdamOptimizer(0.01).minimize(loss)
        opened.run(v1.global_variables_initializer())
        for at in range(30):
            opened.run(update, {x: X, training: True})
            if at % 5 == 0:
                opened.run([loss, output], {x: X + at, training: measured_with})


@pytest.mark.parametrize(
    ("flow", "measured_with"),
    [(control_flow_v1, True), (control_flow_v1, False), (contextlib.nullcontext, False)],
    ids=["v1 with dropout", "v1", "v2"],
)
def test_only_a_branch_that_runs_drops(recorded: Recorded, flow: Callable[[], Any], measured_with: bool) -> None:
    def program() -> None:
        with flow():
            train(measured_with)

    found = [one.cause for one in tensorsleuth.diagnose(recorded(program)).findings]
    assert ("dropout-in-evaluation" in found) == measured_with


def number(first: float) -> Any:
    return v1.get_variable("keep", [], initializer=v1.constant_initializer(first), trainable=False)


# What is fed in training, and the rate that it gives. Evaluation feeds nothing, which keeps everything.
UNFED: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "keep": lambda: (one := v1.placeholder_with_default(1.0, []), 0.7, 1.0 - one),
    "of a variable": lambda: (one := v1.placeholder_with_default(number(1.0), []), 0.7, 1.0 - one),
    "rate": lambda: (one := v1.placeholder_with_default(0.0, []), 0.3, one),
    "scaled": lambda: (one := v1.placeholder_with_default(1.0, []), 0.4, 0.5 * (1.0 - one)),
    "cast": lambda: (one := v1.placeholder_with_default(False, []), True, 0.5 * tf.cast(one, tf.float32)),
    "where": lambda: (one := v1.placeholder_with_default(False, []), True, tf.where(one, 0.5, 0.0)),
    "condition": lambda: (
        one := v1.placeholder_with_default(False, []),
        True,
        tf.cond(one, lambda: 0.5, lambda: 0.0),
    ),
    "fed variable": lambda: (one := number(1.0), 0.7, 1.0 - one),
    "drops": lambda: (one := v1.placeholder_with_default(0.6, []), 0.7, 1.0 - one),
    "drops where": lambda: (one := v1.placeholder_with_default(True, []), True, tf.where(one, 0.5, 0.0)),
}


def train_fed(kind: str) -> None:
    with session() as opened:
        x, labels = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.float32, [None, 1])
        fed, in_training, rate = UNFED[kind]()
        hidden = tf.nn.dropout(tf.nn.relu(x @ v1.get_variable("kernel", [4, 8])), rate=rate)
        output = hidden @ v1.get_variable("last", [8, 1])
        loss = tf.reduce_mean(tf.square(output - labels))
        update = v1.train.AdamOptimizer(0.01).minimize(loss)
        opened.run(v1.global_variables_initializer())
        for at in range(30):
            opened.run(update, {x: X, labels: X[:, :1], fed: in_training})
            if at % 5 == 0:
                opened.run([loss, output], {x: X + at, labels: X[:, :1]})


@pytest.mark.parametrize("kind", UNFED)
def test_a_rate_that_nothing_feeds(recorded: Recorded, kind: str) -> None:
    found = tensorsleuth.diagnose(recorded(lambda: train_fed(kind))).findings
    told = [one for one in found if one.cause == "dropout-in-evaluation"]
    assert len(told) == kind.startswith("drops")
    assert all("session run that does not train" in one.summary and "keep_prob" in (one.fix or "") for one in told)
