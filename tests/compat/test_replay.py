"""Calls that went bad where nobody looked, run again: what XLA compiles, and the flight recorder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import in_graph, marked, only

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.core.replay_outcome import Replay, ReplayOutcome
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Compared = Callable[..., Trace]


def replays(trace: Trace) -> list[Replay]:
    return list(trace.processes[0].catalogue.replays.values())


def outcomes(trace: Trace) -> list[ReplayOutcome]:
    return [replay.outcome for replay in replays(trace)]


def diagnosis(trace: Trace) -> Diagnosis:
    return tensorsleuth.diagnose(trace)


def finding(trace: Trace) -> Finding:
    return diagnosis(trace).findings[0]


@tf.function(jit_compile=True)
def logarithm(x: Any) -> Any:
    y = tf.math.log(x)  # inside what is compiled
    return tf.reduce_sum(y * 2.0)


def test_a_compiled_function_is_looked_into_when_it_goes_bad(compared: Compared) -> None:
    trace = compared(lambda: [logarithm(tf.constant(x)) for x in ([1.0, 2.0], [1.0, 0.0])])
    assert outcomes(trace) == [ReplayOutcome.UNCOMPILED]
    assert trace.not_covered == []
    assert only(in_graph(trace, "Log")).bad
    found = finding(trace)
    assert (found.cause, found.line) == ("log-zero", marked("inside what is compiled"))
    assert "replayed without XLA" in (found.seen or "")


def test_a_compiled_function_in_one_that_is_not(compared: Compared) -> None:
    outer = tf.function(lambda x: logarithm(x - 1.0) + 1.0)
    trace = compared(lambda: [outer(tf.constant(x)) for x in ([2.0, 3.0], [2.0, 1.0])])
    assert outcomes(trace) == [ReplayOutcome.UNCOMPILED]
    assert finding(trace).line == marked("inside what is compiled")


def test_the_step_is_run_again_on_the_weights_from_before_it(compared: Compared) -> None:
    def program() -> Any:
        w = tf.Variable([4.0, 9.0])
        slot = tf.Variable([0.0, 0.0])

        @tf.function(jit_compile=True)
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.sqrt(w - x))  # root
            slot.assign(0.5 * slot + tape.gradient(loss, w))
            w.assign_sub(slot)
            return loss

        return [step(tf.constant(x)) for x in (0.0, 1.0, 2.0, 9.0, 0.0)] + [w.numpy()]

    trace = compared(program)
    found = finding(trace)
    assert (found.cause, found.step, found.line) == ("sqrt-negative", 3, marked("root"))
    assert trace.processes[0].catalogue.meta["steps"] == 5


def test_random_numbers_from_seeds_are_the_same_again(compared: Compared) -> None:
    drawn: list[Any] = []

    def program() -> Any:
        generator = tf.random.Generator.from_seed(3)

        @tf.function(jit_compile=True)
        def draw(seed: Any) -> Any:
            one, other = tf.random.stateless_uniform([64], seed), generator.normal([64])
            return tf.math.log(one[:3] - one[0]), one, other  # log of what was drawn

        drawn[:] = draw(tf.constant([1, 2]))[1:]
        return [one.numpy() for one in drawn]

    trace = compared(program)
    assert outcomes(trace) == [ReplayOutcome.UNCOMPILED]
    for op, value in zip(("StatelessRandomUniformV2", "StatelessRandomNormalV2"), drawn, strict=False):
        row = only(in_graph(trace, op)).row
        assert (row["min"], row["max"]) == (np.min(value), np.max(value))


def test_what_cannot_be_drawn_again_is_said(recorded: Recorded) -> None:
    @tf.function(jit_compile=True)
    def unlucky() -> Any:
        return tf.math.log(tf.where(tf.random.uniform([]) < 1 / 64, 0.0, 1.0))

    trace = recorded(lambda: [unlucky() for _ in range(1500)])  # called
    said = [replay.why or "" for replay in replays(trace) if replay.outcome is ReplayOutcome.NOT_REPRODUCED]
    assert said and "RandomUniform" in said[0] and "random numbers" in said[0]
    found = finding(trace)  # the report blames the call, and says why it cannot be more precise
    assert found.line == marked("called") and "random numbers" in (found.seen or "")


def test_an_iterator_is_not_drawn_from_twice(compared: Compared) -> None:
    def program() -> Any:
        data = iter(tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 0.0], [5.0, 6.0]]))

        @tf.function
        def step(data: Any) -> Any:
            return logarithm(next(data))

        return [step(data) for _ in range(3)]

    trace = compared(program)
    assert outcomes(trace) == [ReplayOutcome.UNCOMPILED]
    assert [look.row["zero"] for look in in_graph(trace, "IteratorGetNext")] == [0, 1, 0]
    assert finding(trace).cause == "log-zero"


def test_labels_out_of_range_are_found_where_only_compiled_they_are_nan(compared: Compared) -> None:
    @tf.function(jit_compile=True)
    def loss(labels: Any, logits: Any) -> Any:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits * 2.0)  # loss of each
        return tf.reduce_mean(each)

    logits = tf.constant([[1.0, 2.0, 3.0]] * 2)
    trace = compared(lambda: [loss(tf.constant(labels), logits) for labels in ([0, 1], [2, 3])])
    assert outcomes(trace) == [ReplayOutcome.COMPILED]
    found = finding(trace)
    assert (found.cause, found.line) == ("label-out-of-range", marked("loss of each"))
    assert "3" in found.summary and "only if XLA compiles" in (found.seen or "")


def test_a_gradient_that_is_bad_only_when_compiled(compared: Compared) -> None:
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x) + 0.0 * tf.reduce_sum(tf.sqrt(x))  # root at zero
        return tape.gradient(y, x)

    trace = compared(lambda: tf.function(slope, jit_compile=True)(tf.constant([0.0, 1.0])))
    assert outcomes(trace) == [ReplayOutcome.COMPILED]
    found = finding(trace)
    assert (found.cause, found.line) == ("grad-sqrt-zero", marked("root at zero"))


def test_a_nested_function_that_is_bad_only_when_compiled(compared: Compared) -> None:
    def program() -> Any:
        inner = tf.function(lambda x: tf.sqrt(x))  # inner root

        @tf.function(jit_compile=True)
        def slope(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(x) + 0.0 * tf.reduce_sum(inner(x))
            return tape.gradient(y, x)

        return tf.function(lambda x: slope(x) * 1.0)(tf.constant([0.0, 1.0]))

    trace = compared(program)
    assert outcomes(trace) == [ReplayOutcome.COMPILED]
    assert (finding(trace).cause, finding(trace).line) == ("grad-sqrt-zero", marked("inner root"))


def test_loops_that_are_compiled(compared: Compared) -> None:
    @tf.function(jit_compile=True)
    def shrink(x: Any) -> Any:
        for _ in tf.range(5):
            x = tf.math.log(x)  # in a compiled loop
        return x

    trace = compared(lambda: shrink(tf.constant([2.0, 3.0])))
    found = finding(trace)
    assert (found.line, found.iteration) == (marked("in a compiled loop"), 1 + 1)


# ---- the flight recorder


def test_in_flight_nothing_is_looked_at_until_something_is_bad(compared: Compared) -> None:
    step = tf.function(lambda x: tf.reduce_sum(tf.math.log(x) * 2.0))  # in flight
    xs = [tf.constant([1.0, 2.0])] * 3 + [tf.constant([1.0, 0.0])]
    trace = compared(lambda: [step(x) for x in xs], mode="FLIGHT")
    assert outcomes(trace) == [ReplayOutcome.AGAIN]
    assert len(in_graph(trace, "Log")) == 1
    assert (finding(trace).cause, finding(trace).line) == ("log-zero", marked("in flight"))


def test_in_flight_what_python_and_chance_gave_is_given_again(
    compared: Compared, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def ask(x: Any) -> Any:
        asked.append(1)
        return x + np.float32(len(asked))

    @tf.function
    def step(x: Any) -> Any:
        chance = tf.random.uniform([8])
        from_python = tf.numpy_function(ask, [x], tf.float32)
        tf.print("once")
        for _ in tf.range(3):
            # Concurrent iterations may swap their random numbers, in the bare program too.
            tf.autograph.experimental.set_loop_options(parallel_iterations=1)
            chance += tf.random.normal([8])
        return tf.math.log(chance - chance), chance, from_python

    def program() -> Any:
        del asked[:]
        return step(tf.constant([1.0]))

    trace = compared(program, mode="FLIGHT")
    assert asked == [1]
    assert capfd.readouterr().err.count("once") == 2  # bare, and watched; not again
    assert outcomes(trace) == [ReplayOutcome.AGAIN]
    row = max((look.row for look in in_graph(trace, "AddV2")), key=lambda row: row["iteration"])
    assert row["nan"] == 0


def test_in_flight_the_same_trouble_is_looked_at_twice_at_most(recorded: Recorded) -> None:
    step = tf.function(lambda x: tf.math.log(x) + 1.0)
    trace = recorded(lambda: [step(tf.constant([0.0])) for _ in range(20)], mode="FLIGHT")
    assert outcomes(trace) == [ReplayOutcome.AGAIN] * 2


def test_in_flight_an_error_is_seen_from_inside(recorded: Recorded) -> None:
    @tf.function
    def pick(x: Any, at: Any) -> Any:
        return tf.gather(x * 2.0, at) + 1.0  # too far

    def program() -> None:
        pick(tf.constant([1.0, 2.0]), tf.constant(1))
        with pytest.raises(tf.errors.InvalidArgumentError):
            pick(tf.constant([1.0, 2.0]), tf.constant(7))

    trace = recorded(program, mode="FLIGHT")
    assert outcomes(trace) == [ReplayOutcome.AGAIN]
    assert in_graph(trace, "Mul", marked("too far"))
    assert trace.processes[0].catalogue.failures[0].call == replays(trace)[0].call


def test_in_flight_variables_grow_until_they_overflow(recorded: Recorded) -> None:
    def program() -> None:
        w = tf.Variable([1.0, 2.0])

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * w)
            w.assign_sub(1e4 * tape.gradient(loss, w))  # too fast
            return loss

        for _ in range(12):
            step()

    found = finding(recorded(program, mode="FLIGHT"))
    assert (found.cause, found.line) == ("learning-rate", marked("too fast"))


def test_in_flight_threads_do_not_meet(recorded: Recorded) -> None:
    @tf.function
    def step(x: Any) -> Any:
        return tf.math.log(x + x * tf.random.uniform([])) * 2.0

    def many(x: float) -> None:
        for at in range(30):
            step(tf.constant([x if at else 1.0]))

    def program() -> None:
        threads = [threading.Thread(target=many, args=(x,)) for x in (1.0, 0.0, 2.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    trace = recorded(program, mode="FLIGHT")
    assert set(outcomes(trace)) == {ReplayOutcome.AGAIN}
    assert finding(trace).cause == "log-zero"
    assert not [look for look in in_graph(trace, "Log") if not look.bad]


def test_a_program_with_nothing_wrong_is_healthy(compared: Compared) -> None:
    trace = compared(lambda: [logarithm(tf.constant([1.0, 2.0])) for _ in range(3)], mode="FLIGHT")
    assert replays(trace) == []
    assert diagnosis(trace).verdict == "healthy"
