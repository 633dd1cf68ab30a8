"""What a diagnosis says of programs that leak, retrace, copy and broadcast, on every TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.diagnose.health_words import format_bytes
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
STEPS = 16


def diagnosis(trace: Trace) -> Diagnosis:
    return tensorsleuth.diagnose(trace)


def only(trace: Trace) -> Finding:
    (found,) = diagnosis(trace).findings
    return found


def train(variable: tf.Variable, loss: Callable[[], Any]) -> None:
    with tf.GradientTape() as tape:
        value = loss()
    variable.assign_sub(0.01 * tape.gradient(value, variable))


def test_a_trace_is_noted_with_what_it_was_made_for(recorded: Recorded) -> None:
    @tf.function
    def scaled(x: Any, by: Any, how: Any) -> Any:
        return how(x * by)

    def program() -> None:
        scaled(tf.ones([2]), 3, tf.abs)
        scaled(tf.ones([2]), 4, tf.abs)
        scaled(tf.ones([2]), 4, tf.abs)
        scaled(tf.ones([5]), 4, tf.abs)

    trace = recorded(program)
    first, second, third = trace.processes[0].catalogue.traces
    assert first.function == "scaled" and first.file == __file__ and first.name != second.name
    texts = [dict(one.arguments) for one in (first, second, third)]
    assert [one["by"] for one in texts] == ["Literal[3]", "Literal[4]", "Literal[4]"]
    assert "shape=(2,)" in texts[1]["x"] and "shape=(5,)" in texts[2]["x"]
    assert "Weakref" in texts[0]["how"] and texts[0]["how"] == texts[1]["how"]


def test_a_number_that_changes_is_named(recorded: Recorded) -> None:
    weights = tf.Variable(1.0)

    @tf.function
    def step(rate: float) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.square(weights)
        weights.assign_sub(rate * tape.gradient(loss, weights))
        return loss

    def program() -> None:
        for number in range(STEPS):
            step(0.1 / (number + 1))  # a new rate

    found = only(recorded(program))
    assert (found.cause, found.line) == ("retracing", marked("a new rate"))
    assert f"{STEPS} times in {STEPS} calls" in found.summary and "rate" in found.summary
    assert "(0.1, then 0.05)" in found.summary and "tf.constant" in (found.fix or "")


def test_with_a_tape_around_it_too(recorded: Recorded) -> None:
    weights = tf.Variable(tf.ones([4]))
    model = tf.function(lambda x: tf.reduce_sum(x * weights))

    def program() -> None:
        for number in range(STEPS):
            x = tf.ones([number + 1, 4])
            train(weights, lambda: model(x))  # noqa: B023  # a new shape

    found = only(recorded(program))
    assert (found.cause, found.line) == ("retracing", marked("a new shape"))
    assert "the shape of its argument x changes ([1, 4], then [2, 4])" in found.summary


def test_traces_of_a_warm_up_are_none(recorded: Recorded) -> None:
    double = tf.function(lambda x: x * 2.0)

    def program() -> None:
        for number in range(60):
            double(tf.ones([number % 12 + 1]))

    trace = recorded(program)
    assert len(trace.processes[0].catalogue.traces) == 12
    assert diagnosis(trace).verdict == "healthy"


def test_layers_of_one_class_are_each_traced_once(recorded: Recorded) -> None:
    class Layer(tf.Module):
        @tf.function
        def grown(self, x: Any) -> Any:
            return tf.concat([x, x[:1]], axis=0)

    def program() -> None:
        x = tf.ones([1])
        for layer in [Layer() for _ in range(12)]:
            x = layer.grown(x)

    trace = recorded(program)
    assert len({one.owner for one in trace.processes[0].catalogue.traces}) == 12
    assert diagnosis(trace).verdict == "healthy"


def test_tensors_that_are_kept_are_counted(recorded: Recorded) -> None:
    weights, kept = tf.Variable(tf.ones([128])), []

    def program() -> None:
        for _ in range(STEPS):
            x = tf.random.normal([256, 128])  # 128 kB
            kept.append(x)  # here they stay
            train(weights, lambda: tf.reduce_mean(x * weights))  # noqa: B023

    trace = recorded(program)
    if not len(trace.processes[0].buffers):  # without the native library nobody knows
        return
    found = only(trace)
    assert (found.cause, found.line) == ("kept-tensors", marked("here they stay"))
    assert (
        f"{STEPS} tensors ({format_bytes(STEPS * 131072)})" in found.summary
        and "131 kB more each step" in found.summary
    )


def test_a_bad_value_is_told_before_a_leak(recorded: Recorded) -> None:
    weights, kept = tf.Variable(tf.zeros([128])), []

    def program() -> None:
        for _ in range(STEPS):
            kept.append(tf.random.normal([256, 128]))
            train(weights, lambda: tf.reduce_mean(tf.sqrt(weights)))  # a slope without end

    trace = recorded(program)
    found = diagnosis(trace).findings
    assert found[0].cause == "grad-sqrt-zero"
    assert len(trace.processes[0].buffers) == 0 or [one.cause for one in found] == ["grad-sqrt-zero", "kept-tensors"]


def test_copies_are_notes_and_the_run_is_healthy(recorded: Recorded) -> None:
    weights = tf.Variable(tf.ones([512]))
    arrays = [np.full((1000, 512), STEPS - number, np.float64) for number in range(STEPS)]
    table = np.ones((600, 512), np.float32)

    def program() -> None:
        for array in arrays:
            data = tf.constant(array)  # fed
            mask = tf.constant(table)  # always the same
            x = tf.cast(data, tf.float32)  # cast
            train(weights, lambda: tf.reduce_mean(x * weights) + tf.reduce_mean(mask))  # noqa: B023

    found = diagnosis(recorded(program))
    assert found.verdict == "healthy" and not found.findings
    notes = {one.cause: one for one in found.notes}
    assert sorted(notes) == ["fed-by-hand", "repeated-cast", "repeated-conversion"]
    assert notes["fed-by-hand"].line == marked("fed") and "MB a step from NumPy" in notes["fed-by-hand"].summary
    assert notes["repeated-cast"].line == marked("cast")
    assert notes["repeated-conversion"].line == marked("always the same")
    assert found.to_json()["notes"][0]["severity"] == "note"


def test_an_evaluation_now_and_then_copies_little(recorded: Recorded) -> None:
    weights = tf.Variable(tf.ones([512]))
    table = np.ones((1000, 512), np.float32)

    def program() -> None:
        for number in range(10 * STEPS):
            train(weights, lambda: tf.reduce_mean(tf.square(weights)))
            if number % 10 == 0:
                float(tf.reduce_mean(tf.constant(table) * weights))

    found = diagnosis(recorded(program))
    assert (found.findings, found.notes) == ((), ())


@pytest.mark.parametrize(("every", "is_problem"), [(1, True), (20, False)])
def test_ops_that_are_added_now_and_then_are_a_note(recorded: Recorded, every: int, is_problem: bool) -> None:
    """A DQN that copies its weights to a target network, with new ops each time."""

    def program() -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            one, other = tf.compat.v1.Variable(tf.ones([4])), tf.compat.v1.Variable(tf.zeros([4]))
            train = tf.compat.v1.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_sum(one**2))
            session.run(tf.compat.v1.global_variables_initializer())
            for number in range(24 * every):
                session.run(train)
                if number % every == 0:
                    session.run(other.assign(0.9 * one))

    found = diagnosis(recorded(program))
    assert [one.cause for one in (found.findings if is_problem else found.notes)] == ["growing-graph"]
    assert found.verdict == ("problem" if is_problem else "healthy")
    assert "in 24 times by now" in (*found.findings, *found.notes)[0].summary


def test_what_mixed_precision_casts_is_no_copy_of_data(recorded: Recorded) -> None:
    weights = tf.Variable(tf.ones([512, 1024]))  # 1 MB in half precision
    shared = tf.Variable(tf.ones([512, 512], tf.float16))

    @tf.function
    def step(x: Any) -> None:
        def loss() -> Any:
            narrow = tf.cast(x, tf.float16)  # a layer casts what it takes
            wide = tf.cast(narrow @ tf.cast(weights, tf.float16), tf.float32)  # and what it computed, its weights
            return tf.reduce_mean(wide) + tf.reduce_mean(tf.cast(shared, tf.float32))

        train(weights, loss)

    def program() -> None:
        for _ in range(STEPS):
            step(tf.random.normal([1100, 512]))

    found = diagnosis(recorded(program))
    assert found.verdict == "healthy" and "repeated-cast" not in [one.cause for one in found.notes]


def test_a_cast_of_data_in_a_function_is_noted(recorded: Recorded) -> None:
    weights = tf.Variable(tf.ones([512]))

    @tf.function
    def step(x: Any) -> None:
        train(weights, lambda: tf.reduce_mean(tf.cast(tf.reshape(x, [-1, 512]), tf.float32) * weights))  # of data

    def program() -> None:
        for number in range(STEPS):
            step(np.full((1000, 2, 256), number, np.float64))

    notes = {one.cause: one for one in diagnosis(recorded(program)).notes}
    assert notes["repeated-cast"].line == marked("of data")


def test_an_outsized_tensor_is_a_note(recorded: Recorded) -> None:
    def program() -> None:
        x = tf.random.normal([600, 32])
        pairs = x[:, tf.newaxis, :] - x[tf.newaxis, :, :]  # all pairs
        tf.reduce_sum(tf.reduce_sum(pairs, axis=2), axis=1).numpy()

    found = diagnosis(recorded(program))
    assert found.verdict == "healthy"
    (note,) = found.notes
    assert (note.cause, note.line) == ("outsized-tensor", marked("all pairs"))
    assert "[600, 600, 32]" in note.summary and "46 MB" in note.summary


def test_a_broadcast_in_a_loss_is_wrong_whether_eager_or_not(recorded: Recorded) -> None:
    predictions = tf.Variable(tf.ones([24, 1]))

    def loss(labels: Any) -> Any:
        return tf.reduce_mean(tf.square(labels - predictions * 2.0))  # [24] and [24, 1]

    for call in (loss, tf.function(loss)):
        found = only(recorded(lambda: call(tf.constant(np.arange(24, dtype=np.float32)))))  # noqa: B023
        assert (found.cause, found.line) == ("accidental-broadcast", marked("[24] and [24, 1]"))
        assert "[24] minus [24, 1], which is [24, 24]" in found.summary and "every label" in found.summary


def test_pairs_that_are_asked_for_are_meant(recorded: Recorded) -> None:
    scores = tf.Variable(tf.random.normal([24]))

    def loss() -> Any:
        value = scores * 2.0
        return tf.reduce_mean(tf.nn.relu(value[:, tf.newaxis] - value))

    for call in (loss, tf.function(loss)):
        assert diagnosis(recorded(call)).verdict == "healthy"
