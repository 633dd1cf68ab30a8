"""What `sleuth why` says of attention written by hand: the wrong ways are named with their line, the right are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat import attention_layers, kerases
from tests.compat import attention_models as models
from tests.compat.kerases import KERASES
from tests.compat.looking import marked, marked_in

import tensorsleuth
from tensorsleuth.diagnose.attention.remarks import attention_lines, remarks_of
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
RIGHT = (
    models.scaled, models.alibi, models.relative, models.small_weights, models.cosine, models.cosine_learned,
    models.sharp, models.linear, models.windows, models.more_tokens, models.among_heads, models.among_features,
    models.folded_heads, models.slices, models.time_first, models.masked_again, models.picked_again,
)  # fmt: skip
WRONG = [
    (models.merged_at_once, 12, False, "heads-mixed", "merged"),
    (models.merged_at_once, 10, False, "heads-mixed", "merged"),  # sizes that do not divide each other
    (models.merged_at_once, 3, False, "heads-mixed", "merged"),  # more heads than positions
    (models.merged_at_once, 12, True, "heads-mixed", "merged"),
    (models.merged_of_equations, 12, False, "heads-mixed", "merged einsum"),
    (models.split_at_once, 12, False, "heads-mixed", "split"),
    (models.split_at_once, 3, False, "heads-mixed", "split"),
    (models.times_root, 12, False, "saturated-attention", "scaled"),
    (models.times_root, 12, True, "saturated-attention", "scaled"),
    (models.times_root_of_shape, 12, False, "saturated-attention", "root of shape"),
    (models.queries_times_root, 12, False, "saturated-attention", "queries"),
    (models.unscaled, 12, True, "missing-scale", "unscaled"),
]


@pytest.mark.parametrize("read", RIGHT, ids=lambda read: read.__name__)
def test_what_is_right_is_healthy(recorded: Recorded, read: models.Read) -> None:
    found = tensorsleuth.diagnose(recorded(lambda: models.trained(read)))
    assert [(one.cause, one.line) for one in found.findings] == []


@pytest.mark.parametrize(("read", "time", "jit", "cause", "mark"), WRONG)
def test_what_is_wrong_is_named(
    recorded: Recorded, read: models.Read, time: int, jit: bool, cause: str, mark: str
) -> None:
    trace = recorded(lambda: models.trained(read, time, jit))
    found = tensorsleuth.diagnose(trace).findings
    line = marked_in(models.__file__, mark)
    assert [(one.cause, one.line) for one in found] == [(cause, line)]
    told = [(one.what, one.severity, one.line) for one in remarks_of(trace.inside())]
    assert told == [(cause, "error", line)]


@pytest.mark.parametrize("name", KERASES)
@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("joins", [False, True])
def test_heads_of_one_product(recorded: Recorded, name: str, splits: bool, joins: bool) -> None:
    """Where they are split off comes first; keys and values are told with the queries."""
    trace = recorded(lambda: attention_layers.fitted(name, splits, joins))
    marks = ("queries at once", "keys at once", "values at once", "together")
    first, also, last, join = (marked_in(attention_layers.__file__, mark) for mark in marks)
    wanted = [first] * splits + [join] * joins
    found = [one for one in tensorsleuth.diagnose(trace).findings if one.cause == "heads-mixed"]
    assert [one.line for one in found] == wanted
    told = [one.line for finding in found for one in finding.evidence if one.role == "also"]
    assert told == [f"{attention_layers.__file__}:{line}" for line in (also, last)] * splits


@pytest.mark.parametrize("name", KERASES)
def test_lines_of_layers_that_one_line_calls(recorded: Recorded, name: str) -> None:
    """A functional model is called from one line; its layers were made in others."""

    def program() -> None:
        layers = kerases.load(name).layers
        x = layers.Input((12, 8))
        y = layers.MultiHeadAttention(2, 4)(x, x)  # first layer
        y = layers.MultiHeadAttention(2, 4)(y, y)  # second layer
        model = kerases.load(name).Model(x, y)

        @tf.function
        def step(given: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(given)))
            for variable, slope in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
                variable.assign_sub(0.1 * slope)
            return loss

        for _ in range(3):
            step(tf.random.stateless_normal((4, 12, 8), (1, 2)))

    lines = attention_lines(recorded(program).inside())
    assert [line.line for line in lines.values()] == [marked("first layer"), marked("second layer")]
