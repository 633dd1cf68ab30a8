"""What is watched at a point of the code, whatever its values are."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import watchable
from tests.compat.looking import marked
from tests.compat.watchable import Program, X, only

import tensorsleuth
from tensorsleuth.core.layout.rows import QUANTILES
from tensorsleuth.trace.reader import Trace

watched = watchable.watched  # a fixture
HERE = os.path.basename(__file__)


@pytest.mark.parametrize("way", ["eager", "function", "compiled"])
def test_a_point_in_the_code(watched: Callable[..., Trace], way: str) -> None:
    program, losses = Program(), []

    def step(x: Any) -> Any:
        y, gradient = program.step(x)
        loss = tf.reduce_sum(y)
        assert tensorsleuth.watch(loss, name="loss", every=2) is loss  # POINT
        tensorsleuth.watch(y, name="wide", what=("quantiles", "value"))
        return y, gradient, loss

    run = step if way == "eager" else tf.function(step, jit_compile=way == "compiled")

    def action() -> None:
        for _ in range(5):
            y, gradient, loss = run(tf.constant(X))
            program._note(y, gradient)
            losses.append(float(loss))

    trace = watched(action, "variable:nothing")
    loss = only(trace, "loss")
    assert (loss.kind, loss.steps.tolist()) == ("point", [0, 2, 4])
    assert loss.scalar.tolist() == losses[::2]
    assert (os.path.basename(str(loss.file)), loss.line) == (HERE, marked("POINT"))
    wide = only(trace, "wide")
    for number, product in enumerate(program.products):
        assert np.array_equal(wide.value(number), product)  # type: ignore[arg-type]
        found = [wide.quantiles[at][number] for at in QUANTILES]
        np.testing.assert_allclose(found, np.quantile(product.astype(np.float64), QUANTILES), rtol=1e-6)


def test_a_compiled_point_of_unknown_shape(watched: Callable[..., Trace]) -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None], tf.float32)])
    def double(x: Any) -> Any:
        return tensorsleuth.watch(x * 2.0, name="any", what="value")

    def action() -> None:
        for size in (2, 5, 3):
            double(tf.range(size, dtype=tf.float32))

    series = only(watched(action, "variable:nothing"), "any")
    assert [len(series.value(look)) for look in range(3)] == [2, 5, 3]  # type: ignore[arg-type]


def test_what_is_not_finite_is_counted(watched: Callable[..., Trace]) -> None:
    def action() -> None:
        tensorsleuth.watch(tf.constant([1.0, np.nan, np.inf, -np.inf, 3.0]), name="bad")
        for value in (np.nan, np.inf, -np.inf, 2.0):
            tensorsleuth.watch(tf.constant(value), name="one")

    trace = watched(action, "variable:nothing")
    row = only(trace, "bad").rows[0]
    assert (row["nan"], row["pos_inf"], row["neg_inf"], row["elements"]) == (1, 1, 1, 5)
    assert (row["min"], row["max"], row["sum"]) == (1.0, 3.0, 4.0) and row["bins"].sum() == 2
    np.testing.assert_array_equal(only(trace, "one").scalar, [np.nan, np.inf, -np.inf, 2.0])


@pytest.mark.parametrize("in_graph", [False, True])
def test_texts(watched: Callable[..., Trace], in_graph: bool) -> None:
    words = ["short", "ein längerer Text, der nicht in 23 Bytes passt", ""]

    def say(texts: Any) -> Any:
        return tensorsleuth.watch(tf.strings.upper(texts) if in_graph else texts, name="words")

    run = tf.function(say) if in_graph else say
    series = only(watched(lambda: run(tf.constant(words)), "variable:nothing"), "words")
    expected = [word.encode().upper().decode() for word in words] if in_graph else words
    assert series.what == ("text",) and series.texts() == expected
