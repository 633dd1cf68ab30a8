"""Inputs and labels that are shuffled apart: two datasets, each with its own order, zipped afterwards."""

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
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Pairs = Callable[[], Any]
X = np.random.default_rng(3).normal(size=(64, 4)).astype("float32")
Y = X[:, :1] + 1.0
slices = tf.data.Dataset.from_tensor_slices


def told(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.line) for one in (*found.findings, *found.notes) if one.cause == "shuffled-apart"]


def shuffled(data: Any) -> Any:
    return slices(data).shuffle(64)  # helper


def as_told(data: Any, **named: Any) -> Any:
    return slices(data).shuffle(64, **named)


def mapped(repeats: bool) -> Any:
    fixed = slices((X, Y)).shuffle(64, reshuffle_each_iteration=False)
    fresh = slices((X, Y)).shuffle(64)  # shared
    base = fixed if repeats else fresh
    return tf.data.Dataset.zip((base.map(lambda x, y: x), base.map(lambda x, y: y)))


def both() -> Any:
    xs = slices(X).shuffle(64)
    ys = slices(Y).map(lambda y: y * 2.0).shuffle(64)  # both
    return tf.data.Dataset.zip((xs, ys))


def inputs_only() -> Any:
    xs = slices(X).shuffle(64, seed=3)  # inputs
    return tf.data.Dataset.zip((xs, slices(Y)))


def seeded() -> Any:
    return tf.data.Dataset.zip((slices(X).shuffle(64, seed=3), slices(Y).shuffle(64, seed=3)))


def seeded_in_place() -> Any:
    xs, ys = slices(X).shuffle(64, 3), slices(Y)
    ys = ys.shuffle(64, 3)
    return tf.data.Dataset.zip((xs, ys))


def halves(change: Callable[..., Any]) -> Any:
    """Pairs of two orders, made one: mixup, CutMix, a labelled set and its copy."""
    one, other = slices((X, Y)).shuffle(64).batch(1), slices((X, Y)).shuffle(64).batch(1)
    return tf.data.Dataset.zip((one, other)).map(change).unbatch()


def mixed(one: Any, other: Any) -> Any:
    return 0.7 * one[0] + 0.3 * other[0], 0.7 * one[1] + 0.3 * other[1]


APART: dict[str, tuple[Pairs, str | None]] = {
    "both": (both, "both"),
    "helper": (lambda: tf.data.Dataset.zip((shuffled(X), shuffled(Y))), "helper"),
    "inputs only": (inputs_only, "inputs"),
    "two passes over one": (lambda: mapped(False), "shared"),
    "one order of two passes": (lambda: mapped(True), None),
    "pairs that are mixed": (lambda: halves(mixed), None),
    "pairs of which one is pasted in": (
        lambda: halves(lambda a, b: (tf.concat([a[0][:, :3], b[0][:, 3:]], 1), 0.75 * a[1] + 0.25 * b[1])),
        None,
    ),
    "pairs of two orders, the first taken": (lambda: halves(lambda a, b: a), None),
    "pairs": (lambda: tf.data.Dataset.zip((slices(X), slices(Y))).shuffle(64), None),
    "seeded somewhere": (lambda: tf.data.Dataset.zip((as_told(X, seed=1), as_told(Y, seed=1))), None),
    "seeded": (seeded, None),
    "seeded in place": (seeded_in_place, None),
    "labels that are all alike": (lambda: tf.data.Dataset.zip((shuffled(X), slices(Y * 0 + 1.0))), None),
    "labels of any order": (lambda: tf.data.Dataset.zip((slices((X, Y)).shuffle(64), slices(X).shuffle(64))), None),
}


def trained(pairs: Pairs, compiled: bool) -> None:
    weights = tf.Variable(tf.zeros((4, 1)))

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ weights - y))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))

    run = tf.function(step) if compiled else step
    for parts in pairs().batch(8).repeat(2):
        x, y = parts if not isinstance(parts[0], tuple) else parts[0]
        run(x, y)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("name", APART)
def test_two_orders_that_are_zipped(recorded: Recorded, name: str, compiled: bool) -> None:
    pairs, mark = APART[name]
    found = told(recorded(lambda: trained(pairs, compiled)))
    assert found == ([("shuffled-apart", marked(mark))] if mark else [])


@pytest.mark.parametrize("pairs", [both, seeded])
@pytest.mark.parametrize("name", KERASES)
def test_two_orders_in_fit(recorded: Recorded, name: str, pairs: Pairs) -> None:
    keras = kerases.load(name)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    found = told(recorded(lambda: model.fit(pairs().batch(8), epochs=2, shuffle=False, verbose=0)))
    assert found == ([("shuffled-apart", marked("both"))] if pairs is both else [])


def test_pictures_of_two_kinds_belong_to_each_other_in_no_order(recorded: Recorded) -> None:
    """Both go through a model and come back, as in a CycleGAN."""
    there, back = tf.Variable(tf.random.normal((4, 4))), tf.Variable(tf.random.normal((4, 4)))

    @tf.function
    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            ways = tf.square(x @ there @ back - x), tf.square(y @ back @ there - y)
            loss = tf.reduce_mean(ways[0]) + tf.reduce_mean(ways[1])
        for one, gradient in zip((there, back), tape.gradient(loss, (there, back)), strict=True):
            one.assign_sub(0.01 * gradient)

    def program() -> None:
        for x, y in tf.data.Dataset.zip((shuffled(X), shuffled(X * 2.0))).batch(8):
            step(x, y)

    assert told(recorded(program)) == []
