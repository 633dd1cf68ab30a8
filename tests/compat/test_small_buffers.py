"""Verdicts on recordings whose circular buffer holds less than the run: the cause, or that it is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
BUFFER = 1000  # the default of TensorFlow's enable_dump_debug_info
MASK = tf.constant([0.0, -np.inf])


class Fitted(tf.Module):
    """A weight that is trained in a function, on the logarithm of what it is given."""

    def __init__(self, masks: bool, returns: bool) -> None:
        super().__init__()
        self.weight = tf.Variable(1.0)
        self.masks, self.returns = masks, returns

    @tf.function
    def step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.math.log(x) * self.weight  # log of zero
            y += tf.reduce_sum(tf.nn.softmax(tf.random.uniform((2,)) + MASK)) if self.masks else 0.0
        self.weight.assign_sub(0.01 * tape.gradient(y, self.weight))
        return y if self.returns else None


def verdict_on(recorded: Recorded, steps: int, first_zero: int, masks: bool = False, returns: bool = True) -> Diagnosis:
    model = Fitted(masks, returns)

    def program() -> None:
        for step in range(steps):
            model.step(tf.constant(float(step < first_zero)) * 2.0)

    trace = recorded(program, circular_buffer_size=BUFFER)
    assert sum(process.lost_events for process in trace.processes) > 0, "the buffer is too small for the run"
    return tensorsleuth.diagnose(trace)


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("first_zero", [3, 2000])
def test_the_first_bad_value_leads_to_its_line(recorded: Recorded, first_zero: int, masks: bool) -> None:
    finding = verdict_on(recorded, 4000, first_zero, masks).findings[0]
    assert (finding.cause, finding.line) == ("log-zero", marked("log of zero"))
    assert finding.confidence >= 0.9


def test_nothing_behind_lost_rows_is_an_origin(recorded: Recorded) -> None:
    """A NaN that was meant has taken the window, and the rows of the one that did harm were overwritten."""
    weight = tf.Variable(1.0)

    def program() -> None:
        tf.where(True, 0.0, tf.sqrt(tf.constant(-1.0)))
        for step in range(12_000):
            weight.assign(tf.sqrt(tf.constant(4.0) * (-1.0 if step == 6000 else 1.0)) * weight * 0.5)

    finding = tensorsleuth.diagnose(recorded(program, circular_buffer_size=BUFFER)).findings[0]
    assert (finding.cause, finding.confidence <= 0.2) == ("origin", True)
    assert "overwritten" in finding.summary and "circular_buffer_size" in (finding.fix or "")


def test_a_run_that_is_longer_than_the_buffer_may_be_healthy(recorded: Recorded) -> None:
    assert not verdict_on(recorded, 4000, 4000, masks=True).findings
