"""Steps are counted as a person would count them, and rows lead to their calls and inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat.looking import Look, in_graph, looks, only

import tensorsleuth
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = tf.constant([1.0, 4.0, 0.0, -1.0])


def steps_of(found: list[Look]) -> list[int | None]:
    return [look.step for look in found]


def weight_and_loss() -> tuple[Any, Callable[[], Any]]:
    weight = tf.Variable([2.0, 3.0])
    return weight, lambda: tf.reduce_sum(tf.math.log(weight))


def test_a_train_function_is_a_step(recorded: Recorded) -> None:
    weight, loss = weight_and_loss()

    @tf.function
    def train() -> None:
        with tf.GradientTape() as tape:
            value = loss()
        weight.assign_sub(tape.gradient(value, weight))

    evaluate = tf.function(lambda: tf.exp(tf.sin(weight)))
    trace = recorded(lambda: [(train(), evaluate()) for _ in range(3)])
    assert trace.processes[0].catalogue.meta["steps"] == 3
    assert {look.step for look in in_graph(trace) if look.tensor.node and look.tensor.node.forward} == {0, 1, 2}


@pytest.mark.parametrize("wrap", [tf.function, lambda function: function])
def test_a_tape_outside_is_a_step(recorded: Recorded, wrap: Callable[..., Any]) -> None:
    weight, loss = weight_and_loss()
    forward = wrap(loss)

    def program() -> None:
        for _ in range(3):
            with tf.GradientTape() as tape:
                value = forward()
            weight.assign_sub(0.1 * tape.gradient(value, weight))

    trace = recorded(program)
    assert steps_of(looks(trace, "Log")) == [0, 1, 2]
    assert trace.processes[0].catalogue.meta["steps"] == 3


def test_the_user_says_which_step(recorded: Recorded) -> None:
    def program() -> None:
        for number in (10, 20):
            with tensorsleuth.step(number):
                tf.exp(X)
                tf.function(lambda x: tf.math.log(x) + 1.0)(X)

    trace = recorded(program)
    assert steps_of(looks(trace, "Exp")) == steps_of(looks(trace, "Log")) == [10, 20]
    with tensorsleuth.step(1):  # while nothing is recorded
        pass
    with pytest.raises(tensorsleuth.SleuthError, match="integer"), tensorsleuth.step("one"):  # type: ignore[arg-type]
        pass


def test_eager_rows_name_their_tensors(recorded: Recorded) -> None:
    """An eager row carries the tensor's uid, and a call the uids of what went in."""

    def program() -> None:
        tf.exp(tf.math.log(X))

    trace = recorded(program)
    made = only(looks(trace, "Log")).row
    assert made["kind"] == EventKind.EAGER
    uid = int(made["iteration"]) | int(made["frame"]) << 32
    taken = only(looks(trace, "Exp"))
    (call,) = [row for row in trace.processes[0].calls if row["call"] == taken.call]
    assert call["inputs"].tolist()[:1] == [uid] and call["inputs_count"] == 1
