"""The flight recorder on large variables: what a call began with is worked out from an earlier one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tests.compat.looking import in_graph, marked, only

import tensorsleuth
from tensorsleuth.core.replay_outcome import ReplayOutcome
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Compared = Callable[..., Trace]
SIZE = 1 << 19  # floats: large enough for one snapshot to serve several calls


class Climber:
    """Its weight goes up by what each call is given; the logarithm of what is left below the top goes bad there."""

    def __init__(self) -> None:
        self.weight = tf.Variable(tf.zeros([SIZE]))

    @tf.function(reduce_retracing=True)
    def climb(self, by: Any) -> Any:
        below = tf.math.log(10.0 - self.weight)  # at the top
        self.weight.assign_add(tf.fill([SIZE], by))
        return tf.reduce_sum(below)


def outcomes(trace: Trace) -> list[ReplayOutcome]:
    return [replay.outcome for replay in trace.processes[0].catalogue.replays.values()]


def bad_weight(trace: Trace) -> Any:
    """The row of what the bad call read: `10 - weight`, which only holds zeros on the right weights."""
    return only([look for look in in_graph(trace, "Sub") if look.row["zero"] == SIZE]).row


def test_the_state_between_two_snapshots_is_worked_out(compared: Compared) -> None:
    def program() -> Any:
        climber = Climber()
        return [climber.climb(tf.constant(1.0)) for _ in range(11)]

    trace = compared(program, mode="FLIGHT")
    assert outcomes(trace) == [ReplayOutcome.AGAIN]
    assert bad_weight(trace)["max"] == 0.0
    found = tensorsleuth.diagnose(trace).findings[0]
    assert (found.cause, found.line) == ("log-zero", marked("at the top"))


def test_what_eager_ops_write_in_between_is_not_missed(compared: Compared) -> None:
    def program() -> Any:
        climber = Climber()
        first = [climber.climb(tf.constant(1.0)) for _ in range(3)]
        climber.weight.assign_add(tf.fill([SIZE], 5.0))
        return [*first, *(climber.climb(tf.constant(1.0)) for _ in range(3))]

    trace = compared(program, mode="FLIGHT")
    assert outcomes(trace) == [ReplayOutcome.AGAIN]
    assert bad_weight(trace)["max"] == 0.0


def test_what_another_function_writes_in_between_is_not_missed(compared: Compared) -> None:
    def program() -> Any:
        climber = Climber()
        lift = tf.function(lambda: climber.weight.assign_add(tf.fill([SIZE], 5.0)))
        first = [climber.climb(tf.constant(1.0)) for _ in range(3)]
        lift()
        return [*first, *(climber.climb(tf.constant(1.0)) for _ in range(3))]

    trace = compared(program, mode="FLIGHT")
    assert outcomes(trace) == [ReplayOutcome.AGAIN]
    assert bad_weight(trace)["max"] == 0.0


def test_chance_between_two_snapshots_is_the_same_again(compared: Compared) -> None:
    weight = tf.Variable(tf.zeros([SIZE]))

    @tf.function
    def wander() -> Any:
        weight.assign_add(tf.random.uniform([SIZE]))
        return tf.reduce_sum(tf.sqrt(3.0 - tf.reduce_max(weight)))  # too far

    def program() -> Any:
        weight.assign(tf.zeros([SIZE]))
        return [wander() for _ in range(6)]

    trace = compared(program, mode="FLIGHT")
    assert outcomes(trace)[0] is ReplayOutcome.AGAIN
    assert tensorsleuth.diagnose(trace).findings[0].line == marked("too far")


def test_threads_that_write_the_same_weights_do_not_mislead(recorded: Recorded) -> None:
    climber = Climber()

    def program() -> None:
        threads = [
            threading.Thread(target=lambda: [climber.climb(tf.constant(1.0)) for _ in range(6)]) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = recorded(program, mode="FLIGHT")
    assert all(outcome in (ReplayOutcome.AGAIN, ReplayOutcome.NOT_REPRODUCED) for outcome in outcomes(trace))
    assert climber.weight[0].numpy() == 12.0
