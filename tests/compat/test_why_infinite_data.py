"""Data that is infinite, or NaN, before TensorFlow sees it: the line that fed it, and the one that may have made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def step(x: Any, weight: Any) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, weight) ** 2)
    weight.assign_sub(0.1 * tape.gradient(loss, weight))


def test_a_quotient_of_numpy(recorded: Recorded) -> None:
    weight = tf.Variable(tf.ones([3, 1]))

    def program() -> None:
        hits, shown = np.arange(12.0).reshape(4, 3) + 1.0, np.arange(12.0).reshape(4, 3)
        with np.errstate(divide="ignore"):
            rates = hits / shown  # quotient
        step(tf.constant(rates.astype(np.float32)), weight)  # fed

    found = first(recorded(program))
    assert (found.cause, found.line) == ("inf-in-data", marked("fed"))
    assert "feeds ∞ (row 0, column 0)" in found.summary
    assert f"line {marked('quotient')} (rates = hits / shown) may have made it" in found.summary


def test_a_captured_array(recorded: Recorded) -> None:
    def program() -> None:
        counts = np.array([3.0, 0.0, 2.0], np.float32)
        with np.errstate(divide="ignore"):
            weights = 1.0 / counts  # inverse
        tf.function(lambda x: tf.reduce_sum(x * weights))(tf.constant([1.0, 2.0, 4.0])).numpy()  # captured

    found = first(recorded(program))
    assert (found.cause, found.line) == ("inf-in-data", marked("captured"))
    assert f"line {marked('inverse')} (" in found.summary


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("kind", ["arrays", "dataset"])
def test_data_of_a_fit(recorded: Recorded, kind: str, bad: float) -> None:
    x = np.random.default_rng(0).normal(size=(32, 3)).astype(np.float32)
    x[20, 2] = bad
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    y = np.ones((32, 1), np.float32)

    def program() -> None:
        if kind == "arrays":
            model.fit(x, y, batch_size=8, verbose=0, shuffle=False)
        else:
            model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(8), verbose=0, shuffle=False)

    found = first(recorded(program))
    assert found.cause == ("nan-in-data" if np.isnan(bad) else "inf-in-data")
    assert "(row 20, column 2)" in found.summary and (found.step, found.batch) == (2, 2)


def test_a_mask_of_minus_infinity_is_still_no_data(recorded: Recorded) -> None:
    scores = tf.random.normal([2, 4], seed=1)
    mask = tf.constant([[0.0, 0.0, -np.inf, -np.inf], [-np.inf] * 4])  # of the second row nothing is left
    weight = tf.Variable(tf.ones([4, 1]))
    found = first(recorded(lambda: step(tf.nn.softmax(scores + mask), weight)))
    assert found.cause == "masked-row"


def test_a_file_is_no_line_that_made_it(recorded: Recorded, tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", np.array([[1.0, np.inf, 3.0]], np.float32))
    weight = tf.Variable(tf.ones([3, 1]))

    def program() -> None:
        x = np.load(tmp_path / "x.npy")
        step(tf.constant(x), weight)

    found = first(recorded(program))
    assert found.cause == "inf-in-data" and "may have made it" not in found.summary
