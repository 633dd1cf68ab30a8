"""The cost of a verdict on a large model, in Python calls, which do not depend on the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tests.compat.steady_calls import python_calls

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
FEW, MANY = 10, 40  # layers
MAX_GROWTH = 2 * MANY / FEW  # of the calls of a function: in proportion to the layers, and not to their square
MIN_CALLS = 4000  # of a function that matters


def trained(layers: int) -> None:
    """Train a network with that many layers for some steps."""
    weights = [tf.Variable(tf.eye(4) * 0.9, name=f"w{number}") for number in range(layers)]
    x = tf.random.stateless_normal([8, 4], [1, 2])

    @tf.function(autograph=False)
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            value = x
            for weight in weights:
                value = tf.tanh(value @ weight)
            loss = tf.reduce_mean(tf.square(value - 0.1))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.01 * gradient)
        return loss

    for _ in range(6):
        step(x)


def test_a_verdict_takes_time_in_proportion_to_the_model(recorded: Recorded) -> None:
    few, many = recorded(lambda: trained(FEW)), recorded(lambda: trained(MANY))
    tensorsleuth.diagnose(few)  # imports the rules
    less, more = python_calls(lambda: tensorsleuth.diagnose(few)), python_calls(lambda: tensorsleuth.diagnose(many))
    often = {name: (less[name], count) for name, count in more.items() if count >= MIN_CALLS}
    assert often and not {name: both for name, both in often.items() if both[1] > MAX_GROWTH * both[0]}
