"""Functions that are traced over and over where nothing is trained: as told of training loops, and what is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
CALLS = 12


def told(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.line) for one in (*found.findings, *found.notes) if one.cause == "retracing"]


def net(keras: Any) -> Any:
    return keras.Sequential([keras.layers.Input((None, 4)), keras.layers.Dense(3), keras.layers.Dense(1)])


def python_numbers(keras: Any) -> None:
    model = net(keras)

    @tf.function
    def predict(x: Any, temperature: float) -> Any:
        return tf.nn.softmax(model(x) / temperature)

    for at in range(CALLS):
        predict(tf.ones((2, 3, 4)), 1.0 + at)  # number


def new_shapes(keras: Any) -> None:
    model = net(keras)
    predict = tf.function(lambda x: model(x))
    for at in range(CALLS):
        predict(tf.ones((2, 3 + at, 4)))  # shape


def made_in_a_loop(keras: Any) -> None:
    model = net(keras)
    for _ in range(CALLS):
        predict = tf.function(lambda x: model(x))  # in a loop
        predict(tf.ones((2, 3, 4)))


def made_in_a_helper(keras: Any) -> None:
    model = net(keras)

    def predict(x: Any) -> Any:
        @tf.function  # in a helper
        def run(x: Any) -> Any:
            return model(x)

        return run(x)

    for _ in range(CALLS):
        predict(tf.ones((2, 3, 4)))


ILLS = {"number": python_numbers, "shape": new_shapes, "in a loop": made_in_a_loop, "in a helper": made_in_a_helper}


@pytest.mark.parametrize("mark", ILLS)
@pytest.mark.parametrize("name", KERASES)
def test_retracing_in_a_loop_that_only_predicts(recorded: Recorded, name: str, mark: str) -> None:
    [(_, line)] = told(recorded(lambda: ILLS[mark](kerases.load(name))))
    lines = {
        "number": marked("number"),
        "shape": marked("shape"),
        "in a loop": marked("in a loop"),
        "in a helper": marked("in a helper"),
    }
    assert line == lines[mark] or (mark == "in a helper" and line == lines[mark] + 1)


def blocks_that_each_run_once(keras: Any) -> None:
    model = net(keras)
    for run in [tf.function(lambda x: model(x)) for _ in range(CALLS)]:
        run(tf.ones((2, 3, 4)))


def an_ensemble(keras: Any) -> None:
    for _ in range(CALLS):
        member = net(keras)
        tf.function(lambda x, member=member: member(x))(tf.ones((2, 3, 4)))


def a_few_lengths(keras: Any) -> None:
    predict = tf.function(net(keras))
    for at in range(4 * CALLS):
        predict(tf.ones((2, 3 + at % 10, 4)))


def a_short_inference(keras: Any) -> None:
    predict = tf.function(net(keras))
    for at in range(5):
        predict(tf.ones((2, 3 + at, 4)))


def folds(keras: Any) -> None:
    model = net(keras)
    for _ in range(CALLS):
        predict = tf.function(lambda x: model(x))
        for _ in range(6):
            predict(tf.ones((2, 3, 4)))


HEALTHY = [blocks_that_each_run_once, an_ensemble, a_few_lengths, a_short_inference, folds]


@pytest.mark.parametrize("program", HEALTHY)
def test_what_is_traced_once_each_is_none(recorded: Recorded, program: Callable[[Any], None]) -> None:
    assert told(recorded(lambda: program(tf.keras))) == []
