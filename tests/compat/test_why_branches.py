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
