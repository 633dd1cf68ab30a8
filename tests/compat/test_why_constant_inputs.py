"""Inputs that are one number in every sample: a symptom such as a dead layer is not told in their place."""

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
Data = Callable[[], Any]
RNG = np.random.default_rng(4)
PIXELS = RNG.integers(0, 256, (96, 6))
LABELS = (PIXELS[:, :1] > 100).astype("float32")
slices = tf.data.Dataset.from_tensor_slices


def told(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace).findings
    return [(one.cause, one.line) for one in found if one.cause in ("constant-inputs", "dead-layer")]


def scaled(pixels: Any) -> Any:
    return pixels / 255.0


def twice() -> Any:
    images = PIXELS
    images = (scaled(scaled(images)) > 0.5).astype("float32")  # twice
    return slices((images, LABELS))


def in_the_dataset() -> Any:
    return slices((PIXELS // 256, LABELS)).map(lambda x, y: (tf.cast(x, tf.float32), y))  # floored


def ones() -> Any:
    images = np.ones_like(PIXELS, "float32")  # ones
    return slices((images, LABELS))


def good() -> Any:
    return slices((scaled(PIXELS).astype("float32"), LABELS))


def blank_everywhere() -> Any:
    images = np.ones_like(PIXELS, "float32")
    return slices((images, np.ones_like(LABELS)))


DATA: dict[str, tuple[Data, str | None]] = {
    "scaled twice": (twice, "twice"),
    "floored": (in_the_dataset, "floored"),
    "ones": (ones, "ones"),
    "good": (good, None),
    "a trial with ones": (blank_everywhere, None),
}


def trained(data: Any, compiled: bool) -> None:
    first, last = tf.Variable(tf.random.normal((6, 16))), tf.Variable(tf.random.normal((16, 1)))

    def step(x: Any, y: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ first) @ last - y))
        for one, by in zip((first, last), tape.gradient(loss, (first, last)), strict=True):
            one.assign_sub(0.01 * by)

    run = tf.function(step) if compiled else step
    for x, y in data.batch(8):
        run(x, y)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("name", DATA)
def test_inputs_of_one_number(recorded: Recorded, name: str, compiled: bool) -> None:
    data, mark = DATA[name]
    found = told(recorded(lambda: trained(data(), compiled)))
    assert found == ([("constant-inputs", marked(mark))] if mark else [])


@pytest.mark.parametrize("blank", [True, False])
@pytest.mark.parametrize("name", KERASES)
def test_inputs_of_one_number_in_fit(recorded: Recorded, name: str, blank: bool) -> None:
    keras = kerases.load(name)
    relu = keras.layers.Dense(16, "relu")
    model = keras.Sequential([keras.layers.Input((6,)), relu, keras.layers.Dense(1)])
    model.compile("sgd", "mse")

    def fit() -> None:
        x_train = scaled(PIXELS).astype("int32" if blank else "float32") // (2 if blank else 1)  # of fit
        model.fit(x_train.astype("float32"), LABELS, batch_size=8, verbose=0)  # casts

    found = told(recorded(fit))
    assert found == ([("constant-inputs", marked("casts"))] if blank else [])


def with_state(state: Any, shares: bool) -> None:
    """Feed a first state of zeros, as to a recurrent layer, beside inputs that vary."""
    inner, outer = tf.Variable(tf.random.normal((4, 4))), tf.Variable(tf.random.normal((6, 4)))

    @tf.function
    def step(x: Any, state: Any) -> None:
        with tf.GradientTape() as tape:
            once = tf.tanh(state @ inner + (0.0 if shares else x @ outer))
            loss = tf.reduce_mean(tf.square((once + x[:, :4]) @ inner - 1.0 if shares else once - 1.0))
        inner.assign_sub(0.01 * tape.gradient(loss, inner))

    for number in range(12):
        step(tf.constant(scaled(PIXELS[8 * number : 8 * number + 8]).astype("float32")), state)


@pytest.mark.parametrize("shares", [True, False], ids=["shared weights", "two inputs"])
def test_a_first_state_of_zeros_is_meant(recorded: Recorded, shares: bool) -> None:
    assert told(recorded(lambda: with_state(tf.zeros((8, 4)), shares))) == []


def with_ids() -> None:
    """Look ids up, and concatenate nothing else with zeros that are only there for the signature."""
    table, side = tf.Variable(tf.random.normal((10, 4))), tf.Variable(tf.random.normal((6, 4)))

    @tf.function
    def step(ids: Any, x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids) + x @ side - 1.0))
        gradient, other = tape.gradient(loss, (table, side))
        table.assign_sub(0.01 * tf.convert_to_tensor(gradient))
        side.assign_sub(0.01 * other)

    for _ in range(12):
        step(tf.constant(RNG.integers(0, 10, 8)), tf.zeros((8, 6)))


def test_zeros_beside_ids_may_be_meant(recorded: Recorded) -> None:
    assert told(recorded(with_ids)) == []
