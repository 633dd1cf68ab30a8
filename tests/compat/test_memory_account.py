"""What was alive when, on a real TensorFlow: small programs whose memory is known to the byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.kerases import KERASES, load

from tensorsleuth.analyze.memory.account import Holding, MemoryAccount, group_holdings
from tensorsleuth.analyze.memory.labels import ACTIVATIONS, GRADIENTS, INPUTS, OPTIMIZER, WEIGHTS
from tensorsleuth.trace.query.query import process_indexes
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
SIDE = 512
MB = SIDE * SIDE * 4  # bytes of one matrix


def account(trace: Trace) -> MemoryAccount:
    (asked,) = process_indexes(trace)
    return MemoryAccount(asked)


def fullest(found: MemoryAccount) -> list[Holding]:
    """What was alive when tensors took most."""
    times = np.array([life.born for life in found.lifetimes.all])
    return found.holdings(int(times[found.tensors_at(times).argmax()]))


def amounts(holdings: list[Holding], by: str = "kind") -> dict[str, int]:
    """How many matrices each group is; what is smaller is left out."""
    return {group.name: round(group.bytes / MB) for group in group_holdings(holdings, by) if group.bytes >= MB}


def test_views_are_counted_once_and_the_dead_not_at_all(recorded: Recorded) -> None:
    def program() -> None:
        a = tf.ones([SIDE, SIDE])
        b = tf.reshape(a, [-1])
        tf.identity(b)
        del a
        c = tf.exp(b)
        del b
        tf.exp(c)

    found = account(recorded(program))
    times = np.array([life.born for life in found.lifetimes.all])
    assert [round(bytes / MB) for bytes in found.tensors_at(times)] == [1, 2, 2]
    assert found.tensors_at(np.array([found.samples["time"][-1]]).astype(np.int64)).tolist() == [0]


def test_a_variable_keeps_what_was_assigned_to_it(recorded: Recorded) -> None:
    kept: list[Any] = []

    def program() -> None:
        kept.append(tf.Variable(tf.zeros([SIDE, SIDE]), name="table"))
        kept[0].assign(tf.ones([SIDE, SIDE]))
        kept[0].read_value()

    found = account(recorded(program))
    (left,) = found.holdings(int(found.samples["time"][-1]))
    assert left.label.kind == WEIGHTS and left.bytes == MB and left.label.op == "Variable"
    assert len(found.lifetimes.all) == 2, "the zeros, then the ones"


def test_in_a_function_a_tensor_lives_until_the_last_that_takes_it(recorded: Recorded) -> None:
    @tf.function
    def chain(x: Any) -> Any:
        first = tf.matmul(x, x)
        second = tf.matmul(first, first)
        third = tf.matmul(second, second)
        return tf.matmul(third, third)

    def program() -> None:
        x = tf.ones([SIDE, SIDE]) / SIDE
        chain(x)

    found = account(recorded(program))
    at_most = amounts(fullest(found), "op")
    assert sum(at_most.values()) <= 4, "x, and of the chain never more than two, and one that is being made"
    assert at_most["MatMul"] >= 2


@pytest.mark.parametrize("trained", ["in a function", "eagerly"])
def test_kinds(recorded: Recorded, trained: str) -> None:
    layers = 4
    kept: list[Any] = []

    def program() -> None:
        weights = [tf.Variable(tf.eye(SIDE), name=f"w{i}") for i in range(layers)]
        velocity = [tf.Variable(tf.zeros([SIDE, SIDE]), name=f"v{i}") for i in range(layers)]
        kept.extend(weights + velocity)

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                for weight in weights:
                    x = tf.tanh(tf.matmul(x, weight))
                loss = tf.reduce_sum(x)
            for gradient, weight, one in zip(tape.gradient(loss, weights), weights, velocity, strict=True):
                one.assign(0.9 * one + gradient)
                weight.assign_sub(0.1 * one)
            return loss

        run = tf.function(step) if trained == "in a function" else step
        for _ in range(3):
            run(tf.constant(np.full((SIDE, SIDE), 0.5, np.float32)))

    found = account(recorded(program))
    left = amounts(found.holdings(int(found.samples["time"][-1])))  # between steps, with no thread half way
    state = layers if trained == "in a function" else 0
    weights = 2 * layers - state
    assert weights / 2 <= left[WEIGHTS] <= weights  # 2.15 writes one in place, and eager code has no row of it
    assert left.get(OPTIMIZER, 0) == state
    at_most = amounts(fullest(found))
    assert at_most.get(ACTIVATIONS, 0) + at_most.get(GRADIENTS, 0) >= 1
    made = {found.labels.kind(life) for life in found.lifetimes.all}
    assert {INPUTS, ACTIVATIONS, GRADIENTS} <= made, "some may be gone at the fullest moment"


OPTIMIZERS = [*KERASES, f"legacy of {KERASES[-1]}"]


def adam(kind: str, rate: float) -> Any:
    optimizers = load(kind.removeprefix("legacy of ")).optimizers
    return (optimizers.legacy if kind.startswith("legacy") else optimizers).Adam(rate)


@pytest.mark.parametrize("trained", ["in a function", "eagerly"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_slots_of_a_keras_optimizer_are_its_state(recorded: Recorded, kind: str, trained: str) -> None:
    """Also in a loop of the program's own, where no model tells of its optimizer."""
    kept: list[Any] = []
    weight = (tf.Variable if kind != "tf.keras" else getattr(tf.keras, "Variable", tf.Variable))(tf.eye(SIDE))

    def program() -> None:
        optimizer = adam(kind, 1e-3)
        kept.append(optimizer)

        def step(x: Any) -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.matmul(x, tf.convert_to_tensor(weight)))
            source = getattr(weight, "value", weight) if hasattr(weight, "path") else weight
            optimizer.apply_gradients([(tape.gradient(loss, source), weight)])

        run = tf.function(step) if trained == "in a function" else step
        for _ in range(2):
            run(tf.ones([SIDE, SIDE]))

    found = account(recorded(program))
    left = amounts(found.holdings(int(found.samples["time"][-1])))
    assert left[OPTIMIZER] == 2, "momentum and velocity"


def test_where_a_tensor_was_made(recorded: Recorded) -> None:
    line = test_where_a_tensor_was_made.__code__.co_firstlineno

    def program() -> None:
        with tf.name_scope("attic"):
            box = tf.ones([SIDE, SIDE])
        assert box is not None

    (one,) = fullest(account(recorded(program)))
    assert (one.label.op, one.label.dtype, one.label.shape) == ("Fill", "float32", (SIDE, SIDE))
    assert one.label.file == __file__ and one.label.line == line + 5
    assert one.label.layer == "attic"


def test_growth_adds_up(recorded: Recorded) -> None:
    kept: list[Any] = []
    found = account(recorded(lambda: kept.append(tf.random.normal([6000, 6000]))))
    parts = found.growth_parts(int(found.samples["time"][-1]))
    assert parts.tensors == 6000 * 6000 * 4
    assert parts.growth == parts.tensors + parts.kept + parts.own + parts.working + parts.rest
    assert parts.explained > 0.8
