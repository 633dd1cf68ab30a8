"""What a verdict costs on a large model: counts of Python calls, which do not depend on the machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import tensorflow as tf

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


def calls_of(action: Callable[[], Any]) -> Counter[str]:
    """Return how often an action calls each Python function."""
    count: Counter[str] = Counter()

    def saw(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            count[frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name] += 1

    sys.setprofile(saw)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def test_a_verdict_takes_time_in_proportion_to_the_model(recorded: Recorded) -> None:
    few, many = recorded(lambda: trained(FEW)), recorded(lambda: trained(MANY))
    tensorsleuth.diagnose(few)  # imports the rules
    less, more = calls_of(lambda: tensorsleuth.diagnose(few)), calls_of(lambda: tensorsleuth.diagnose(many))
    often = {name: (less[name], count) for name, count in more.items() if count >= MIN_CALLS}
    assert often and not {name: both for name, both in often.items() if both[1] > MAX_GROWTH * both[0]}
