"""What is advised where a function is written by hand that TensorFlow has; also where its optimiser rewrote that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
BY_HAND: list[tuple[str, Callable[[Any], Any], list[float], str, str]] = [
    ("softplus", lambda x: tf.math.log(1.0 + tf.exp(x)), [1.0, 100.0], "tf.nn.softplus(", "up to 100"),
    ("with log1p", lambda x: tf.math.log1p(tf.exp(x)), [1.0, 100.0], "tf.nn.softplus(", "up to 100"),
    ("of -x", lambda x: -tf.math.log(1.0 + tf.exp(-x)), [1.0, -100.0], "tf.nn.softplus(", "up to 100"),
    ("of 2 + exp", lambda x: tf.math.log(2.0 + tf.exp(x)), [1.0, 100.0], "tf.exp(tf.minimum(", "up to 100"),
    ("log sigmoid", lambda x: tf.math.log(tf.sigmoid(x)), [1.0, -200.0], "tf.math.log_sigmoid(", "from sigmoid"),
    (
        "sigmoid by hand",
        lambda x: tf.math.log(1.0 / (1.0 + tf.exp(-x))),
        [1.0, -100.0],
        "tf.math.log_sigmoid(",
        "sigmoid",
    ),
    (
        "cross entropy",
        lambda x: tf.reduce_mean([1.0, 0.5] * tf.math.log(tf.sigmoid(x))),
        [1.0, -200.0],
        "tf.nn.sigmoid_cross_entropy_with_logits(",
        "from sigmoid",
    ),
    ("counts", tf.math.log, [7.0, 0.0], "tf.math.log1p(x) where x counts", "1 of what went in is 0"),
    ("probabilities", tf.math.log, [0.7, 0.0], "tf.maximum(x, 1e-7))", "1 of what went in is 0"),
]


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "eager"])
@pytest.mark.parametrize(("_", "by_hand", "x", "fix", "why"), BY_HAND, ids=[name for name, *_ in BY_HAND])
def test_the_function_that_was_meant_is_named(
    recorded: Recorded, graph: bool, _: str, by_hand: Callable[[Any], Any], x: list[float], fix: str, why: str
) -> None:
    found = first(recorded, by_hand, x, graph)
    assert found.fix is not None and fix in found.fix and why in found.summary
    assert "log1p" not in found.fix or "log1p" in fix
    assert "log(0)" not in found.summary or found.op == "Log"


def test_the_log_of_a_softmax(recorded: Recorded) -> None:
    """Eagerly; in a graph TensorFlow makes LogSoftmax of it by itself."""
    found = first(recorded, lambda x: tf.math.log(tf.nn.softmax(x)), [1.0, -200.0], graph=False)
    assert found.cause == "cross-entropy-by-hand" and found.fix is not None
    assert found.fix.startswith("use tf.nn.log_softmax(logits)")


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "eager"])
@pytest.mark.parametrize(
    ("by_hand", "begins"),
    [
        (lambda x: x / (1 - 0.9**0), "count steps from 1"),
        (lambda x: x / float(len([])), "look at how that number is computed"),
        (lambda x: x / (x - x), "divide with tf.math.divide_no_nan"),
    ],
    ids=["bias correction", "empty", "computed"],
)
def test_a_divisor_that_python_computed(recorded: Recorded, graph: bool, by_hand: Any, begins: str) -> None:
    """An epsilon would hide what is wrong with the number."""
    found = first(recorded, by_hand, [1.0, 0.0], graph)
    assert found.cause in ("zero-over-zero", "divide-by-zero") and found.fix is not None
    assert found.fix.startswith(begins)
    assert ("Python computed it" in found.summary) is not begins.startswith("divide")


def test_columns_of_different_sizes_are_not_divided_by_the_largest(recorded: Recorded) -> None:
    """Prices and volumes of shares, as a course has them, with a rate for scaled ones."""
    rows = np.array([[828.7, 833.4, 1908100.0], [823.0, 828.1, 1828100.0], [819.9, 824.4, 1438100.0]], np.float32)
    weights = tf.Variable(tf.ones([3, 1]))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(x @ weights - 830.0))
        weights.assign_sub(1e-5 * tape.gradient(loss, weights))
        return loss

    found = tensorsleuth.diagnose(recorded(lambda: [float(step(tf.constant(rows))) for _ in range(20)])).findings[0]
    assert found.cause == "learning-rate" and found.fix is not None
    assert "(x - mean) / std of each column, and of large targets; then lower the learning rate by far" in found.fix
    assert found.fix.count("scale what goes in") == 1 and "x / " not in found.fix


def test_what_the_optimiser_made_of_a_root_is_shown_as_computed(recorded: Recorded) -> None:
    """x / sqrt(y) is computed as x * rsqrt(y): no sqrt was infinite."""
    found = first(recorded, lambda y: [3.0, 2.0] / tf.sqrt(y), [1.0, 0.0], graph=True)
    (out,) = [piece for piece in found.evidence if piece.role == "out"]
    assert (out.op, out.name) == ("Rsqrt", "Sqrt as Rsqrt") and "+∞" in out.health
    assert found.chain[0].startswith("Rsqrt (")


def first(recorded: Recorded, by_hand: Callable[[Any], Any], x: list[float], graph: bool) -> Finding:
    function = tf.function(by_hand) if graph else by_hand
    return tensorsleuth.diagnose(recorded(lambda: function(tf.constant(x)).numpy())).findings[0]
