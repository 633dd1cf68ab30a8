"""What is advised where a function is written by hand that TensorFlow has; also where its optimiser rewrote that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def test_what_the_optimiser_made_of_a_root_is_shown_as_computed(recorded: Recorded) -> None:
    """x / sqrt(y) is computed as x * rsqrt(y): no sqrt was infinite."""
    found = first(recorded, lambda y: [3.0, 2.0] / tf.sqrt(y), [1.0, 0.0], graph=True)
    (out,) = [piece for piece in found.evidence if piece.role == "out"]
    assert (out.op, out.name) == ("Rsqrt", "Sqrt as Rsqrt") and "+∞" in out.health
    assert found.chain[0].startswith("Rsqrt (")


def first(recorded: Recorded, by_hand: Callable[[Any], Any], x: list[float], graph: bool) -> Finding:
    function = tf.function(by_hand) if graph else by_hand
    return tensorsleuth.diagnose(recorded(lambda: function(tf.constant(x)).numpy())).findings[0]
