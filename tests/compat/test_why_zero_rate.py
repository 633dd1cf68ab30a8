"""A learning rate of 0 in a variable of a session: told at the variable, or at the op that sets it and never runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked
from tests.compat.sessions import session

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Optimizer = Callable[[Any], Any]
v1 = tf.compat.v1
X = np.random.default_rng(3).normal(size=(32, 8)).astype("float32")
Y = X.sum(1, keepdims=True)
STEPS = 20
OPTIMIZERS: dict[str, Optimizer] = {
    "adam": v1.train.AdamOptimizer,
    "descent": v1.train.GradientDescentOptimizer,
    "momentum": lambda rate: v1.train.MomentumOptimizer(rate, 0.9),
    "rmsprop": v1.train.RMSPropOptimizer,
}


def told(trace: Trace) -> list[tuple[str, int | None]]:
    return [(one.cause, one.line) for one in tensorsleuth.diagnose(trace).findings]


def regression() -> tuple[Any, Any, Any]:
    x, y = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 1])
    kernel = v1.get_variable("kernel", [8, 4], initializer=v1.truncated_normal_initializer(0.3, seed=1))
    last = v1.get_variable("last", [4, 1], initializer=v1.truncated_normal_initializer(0.3, seed=2))
    return x, y, tf.reduce_mean(tf.square(tf.tanh(x @ kernel) @ last - y))


def train(opened: Any, nodes: tuple[Any, Any, Any], step: Any) -> None:
    x, y, loss = nodes
    for _ in range(STEPS):
        opened.run([step, loss], {x: X, y: Y})


def set_but_not_run(opened: Any, optimizer: Optimizer) -> None:
    nodes = regression()
    pace = v1.Variable(0.0, trainable=False)
    step = optimizer(pace).minimize(nodes[-1])
    opened.run(v1.global_variables_initializer())
    v1.assign(pace, 0.01)  # not run
    train(opened, nodes, step)


def set_by_its_method(opened: Any, optimizer: Optimizer) -> None:
    nodes = regression()
    speed = v1.Variable(0.0, trainable=False)
    step = optimizer(speed).minimize(nodes[-1])
    opened.run(v1.global_variables_initializer())
    speed.assign(0.01)  # method not run
    train(opened, nodes, step)


def never_set(opened: Any, optimizer: Optimizer) -> None:
    nodes = regression()
    size = v1.Variable(0.0, trainable=False)  # never set
    step = optimizer(size).minimize(nodes[-1])
    opened.run(v1.global_variables_initializer())
    train(opened, nodes, step)


def set_and_run(opened: Any, optimizer: Optimizer) -> None:
    nodes = regression()
    tempo = v1.Variable(0.0, trainable=False)
    step = optimizer(tempo).minimize(nodes[-1])
    opened.run(v1.global_variables_initializer())
    opened.run(v1.assign(tempo, 0.01))
    train(opened, nodes, step)


PROGRAMS: dict[str, tuple[Callable[[Any, Optimizer], None], str | None]] = {
    "set, not run": (set_but_not_run, "not run"),
    "set by its method": (set_by_its_method, "method not run"),
    "never set": (never_set, "never set"),
    "set and run": (set_and_run, None),
}


def ran(program: str, optimizer: str, resource: bool) -> None:
    with session() as opened, v1.variable_scope("", use_resource=resource):
        PROGRAMS[program][0](opened, OPTIMIZERS[optimizer])


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_rate_of_zero(recorded: Recorded, program: str, resource: bool) -> None:
    mark = PROGRAMS[program][1]
    found = told(recorded(lambda: ran(program, "adam", resource)))
    assert found == ([("frozen-weights", marked(mark))] if mark else [])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_rate_of_each_optimizer(recorded: Recorded, optimizer: str) -> None:
    found = told(recorded(lambda: ran("set, not run", optimizer, True)))
    assert found == [("frozen-weights", marked("not run"))]
