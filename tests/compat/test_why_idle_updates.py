"""Optimizers of TensorFlow 1 that no session runs: forgotten in the loop, or not meant to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked
from tests.compat.sessions import session

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
v1 = tf.compat.v1
X = np.random.default_rng(3).normal(size=(96, 4)).astype("float32")
Y = X.sum(1, keepdims=True)
RUNS = 12


class Graph:
    """A regression with everything that its training needs; `more` is added to the loss."""

    def __init__(self, optimizer: Any = v1.train.AdamOptimizer, more: bool = False) -> None:
        self.x, self.y = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.float32, [None, 1])
        with v1.variable_scope("net"):
            kernel = v1.get_variable("kernel", [4, 1], initializer=v1.truncated_normal_initializer(0.1, seed=1))
            bias = v1.get_variable("bias", [1], initializer=v1.zeros_initializer())
        self.weights = [kernel, bias]
        self.output = self.x @ kernel + bias
        self.loss = tf.reduce_mean(tf.square(self.output - self.y))
        if more:
            self.loss = self.loss + 0.01 * tf.nn.l2_loss(kernel)
        self.train = optimizer(0.05).minimize(self.loss)  # minimize
        self.init = v1.global_variables_initializer()

    def feed(self, at: int) -> dict[Any, Any]:
        part = slice(8 * at, 8 * at + 8)
        return {self.x: X[part], self.y: Y[part]}


def told(trace: Trace) -> list[tuple[str, str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [
        (one.cause, one.severity, one.line)
        for one in (*found.findings, *found.notes)
        if one.cause == "update-never-run"
    ]


def only_the_loss(graph: Graph, opened: Any) -> None:
    for at in range(RUNS):
        opened.run(graph.loss, graph.feed(at))


def loss_and_output(graph: Graph, opened: Any) -> None:
    for at in range(RUNS):
        opened.run([graph.output, graph.loss], graph.feed(at))


def through_a_callable(graph: Graph, opened: Any) -> None:
    run = opened.make_callable(graph.loss, [graph.x, graph.y])
    for at in range(RUNS):
        run(*graph.feed(at).values())


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("more", [False, True], ids=["mean", "sum"])
@pytest.mark.parametrize("loop", [only_the_loss, loss_and_output, through_a_callable])
def test_a_train_op_that_no_session_runs(
    recorded: Recorded, loop: Callable[[Graph, Any], None], more: bool, resource: bool
) -> None:
    def program() -> None:
        with session() as opened, v1.variable_scope("", use_resource=resource):
            graph = Graph(more=more)
            opened.run(graph.init)
            loop(graph, opened)

    assert told(recorded(program)) == [("update-never-run", "error", marked("minimize"))]


def test_plain_gradient_descent(recorded: Recorded) -> None:
    def program() -> None:
        with session() as opened:
            graph = Graph(v1.train.GradientDescentOptimizer)
            opened.run(graph.init)
            only_the_loss(graph, opened)

    trace = recorded(program)
    assert told(trace) == [("update-never-run", "error", marked("minimize"))]
    assert f"{RUNS} times" in tensorsleuth.diagnose(trace).findings[0].summary


def trained_later(graph: Graph, opened: Any, folder: Path) -> None:
    opened.run(graph.init)
    only_the_loss(graph, opened)
    for at in range(RUNS):
        opened.run([graph.train, graph.loss], graph.feed(at))


def trained_in_turns(graph: Graph, opened: Any, folder: Path) -> None:
    opened.run(graph.init)
    for at in range(RUNS):
        opened.run(graph.train, graph.feed(at))
        opened.run(graph.loss, graph.feed(at))


def restored(graph: Graph, opened: Any, folder: Path) -> None:
    """An evaluation of a checkpoint, by the script that trains."""
    saver = v1.train.Saver()
    with v1.Session() as before:
        before.run(graph.init)
        path = saver.save(before, str(folder / "model"))
    saver.restore(opened, path)
    only_the_loss(graph, opened)


def initialised_then_restored(graph: Graph, opened: Any, folder: Path) -> None:
    opened.run(graph.init)
    restored(graph, opened, folder)


def loaded(graph: Graph, opened: Any, folder: Path) -> None:
    opened.run(graph.init)
    for weight in graph.weights:
        weight.load(np.ones(weight.shape, "float32"), opened)
    only_the_loss(graph, opened)


def only_outputs(graph: Graph, opened: Any, folder: Path) -> None:
    opened.run(graph.init)
    for at in range(RUNS):
        opened.run(graph.output, graph.feed(at))


def a_few_looks(graph: Graph, opened: Any, folder: Path) -> None:
    opened.run(graph.init)
    for at in range(3):
        opened.run(graph.loss, graph.feed(at))


@pytest.mark.parametrize(
    "loop", [trained_later, trained_in_turns, restored, initialised_then_restored, loaded, only_outputs, a_few_looks]
)
def test_nothing_is_said(recorded: Recorded, loop: Callable[[Graph, Any, Path], None], tmp_path: Path) -> None:
    def program() -> None:
        with session() as opened:
            loop(Graph(), opened, tmp_path)

    assert told(recorded(program)) == []
