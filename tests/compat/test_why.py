"""What a diagnosis says of programs whose births cross calls, variables, datasets and loops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import looks, marked, only

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.diagnose.nan import last_update
from tensorsleuth.diagnose.nan.history import over_steps
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]


def finding(trace: Trace) -> Finding:
    return diagnosis(trace).findings[0]


def diagnosis(trace: Trace) -> Diagnosis:
    return tensorsleuth.diagnose(trace)


def test_an_array_that_is_fed_is_seen_where_it_was_fed(recorded: Recorded) -> None:
    def program() -> None:
        x = tf.constant(np.array([1.0, np.nan, 3.0], np.float32))  # fed
        tf.reduce_sum(x * 2.0).numpy()

    trace = recorded(program)
    assert only(looks(trace, "Feed", marked("fed"))).bad
    found = finding(trace)
    assert (found.cause, found.line) == ("nan-in-data", marked("fed"))
    assert "element 1" in found.summary


def test_a_numpy_argument_is_looked_at_where_the_op_goes_bad(recorded: Recorded) -> None:
    x = np.array([4.0, 0.0], np.float32)
    found = finding(recorded(lambda: tf.raw_ops.Log(x=x)))
    assert found.cause == "log-zero"
    assert found.evidence[0].role == "in" and "1 zero of 2" in found.evidence[0].health


def test_a_variable_that_an_eager_op_reads_by_itself_is_looked_at(recorded: Recorded) -> None:
    def program() -> None:
        width = tf.Variable([1.0, -2.0])
        tf.math.log(width).numpy()  # log of a variable

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("log-negative", marked("log of a variable"))


def test_the_first_tensor_of_a_process_is_one_like_others() -> None:
    from tensorsleuth.core.layout.rows import NO_UID

    assert NO_UID not in (0, tf.constant(1.0)._id)


def test_a_variable_poisoned_in_one_step_is_not_blamed_in_the_next(recorded: Recorded) -> None:
    weight = tf.Variable([1.0, 1.0])

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(weight * x))  # root
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    def program() -> None:
        for step in range(4):
            train(tf.constant([1.0, 0.0 if step == 1 else 1.0]))

    found = diagnosis(recorded(program)).findings
    assert [(one.cause, one.line, one.step) for one in found] == [("grad-sqrt-zero", marked("root"), 1)]
    assert found[0].chain[-1].startswith("written to")


def test_a_literal_infinity_is_nobodys_fault(recorded: Recorded) -> None:
    @tf.function
    def attend(scores: Any) -> Any:
        return tf.nn.softmax(tf.where([True, False, True], scores, -np.inf))

    def program() -> None:
        attend(tf.constant([1.0, 2.0, 3.0]))
        smallest = tf.Variable(tf.fill([2], np.inf))
        smallest.assign(tf.minimum(smallest, [1.0, 2.0]))

    found = diagnosis(recorded(program))
    assert found.verdict == "healthy", found.findings


def test_a_row_that_is_masked_whole(recorded: Recorded) -> None:
    def program() -> None:
        scores = tf.where([[True, False], [False, False]], 1.0, -np.inf)
        tf.nn.softmax(scores).numpy()  # softmax

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("masked-row", marked("softmax"))


def test_what_tf_where_masks_harms_nothing_without_a_gradient(recorded: Recorded) -> None:
    @tf.function
    def safe_log(x: Any) -> Any:
        return tf.where(x > 0, tf.math.log(x), 0.0)

    found = diagnosis(recorded(lambda: safe_log(tf.constant([1.0, 0.0]))))
    assert found.verdict == "healthy"
    assert [one.op for one in found.masked] == ["Log"]


def test_the_where_trap(recorded: Recorded) -> None:
    weight = tf.Variable([1.0, 0.0])

    @tf.function
    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.where(weight > 0, tf.math.log(weight), 0.0))  # trap
        weight.assign_sub(tape.gradient(loss, weight))

    found = finding(recorded(train))
    assert (found.cause, found.line) == ("where-trap", marked("trap"))


def test_a_bad_element_of_a_dataset_is_led_to_its_source(recorded: Recorded) -> None:
    values = np.ones([12, 3], np.float32)
    values[7, 2] = np.nan

    def program() -> None:
        weight = tf.Variable(tf.ones([3]))
        dataset = tf.data.Dataset.from_tensor_slices(values)  # source
        for batch in dataset.map(lambda row: row * 2.0).batch(4):
            weight.assign_sub(0.1 * tf.reduce_mean(batch, 0))

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("nan-in-data", marked("source"))
    assert "row 7, column 2" in found.summary and "row 3, column 2 of the batch" in found.summary


def test_what_a_map_function_computes_is_blamed_not_the_batch(recorded: Recorded) -> None:
    def program() -> None:
        weight = tf.Variable(0.0)
        dataset = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
        for batch in dataset.map(lambda x: 1.0 / x).batch(3):  # inverse
            weight.assign_add(tf.reduce_sum(batch))

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("divide-by-zero", marked("inverse"))


def test_growth_in_a_loop_is_told_as_such(recorded: Recorded) -> None:
    @tf.function
    def unroll(state: Any) -> Any:
        for _ in tf.range(300):
            state = tf.linalg.matvec(tf.constant([[2.0, 0.0], [0.0, 1.5]]), state)  # cell
        return state

    found = finding(recorded(lambda: unroll(tf.constant([1.0, 1.0]))))
    assert (found.cause, found.line) == ("exploding-recurrence", marked("cell"))
    assert found.iteration == 127 and "2×" in found.summary


def test_growth_over_steps_is_told_with_the_step_it_began(recorded: Recorded) -> None:
    weight = tf.Variable(1.0, name="slope")

    @tf.function
    def train() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.square(weight)
        weight.assign_sub(50.0 * tape.gradient(loss, weight))  # update
        return loss

    def program() -> None:
        for _ in range(30):
            train()

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("update"))
    assert "slope grew about 99× a step from step 0 on" in found.summary


def test_how_a_variable_grew_is_searched_for_among_the_reads_alone(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = [tf.Variable(1.0) for _ in range(3)]
    asked: list[tuple[int, int]] = []

    @tf.function
    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.square(tf.sin(tf.add_n(weights)) + tf.add_n(weights))
        for weight, slope in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(50.0 * slope)

    def counting(one: Any, among: Any = None) -> Any:
        asked.append((len(one.process.events), len(one.process.events if among is None else among)))
        return over_steps(one, among)

    monkeypatch.setattr(last_update, "over_steps", counting)
    assert finding(recorded(lambda: [train() for _ in range(30)])).cause == "learning-rate"
    assert any(among < every / 3 for every, among in asked)  # not all rows for each variable: too slow in a long run


def test_a_line_that_reads_two_variables_has_the_one_that_grew(recorded: Recorded) -> None:
    def program() -> None:
        steep = tf.Variable(1.0)
        flat = tf.Variable(1.0)
        for _ in range(30):
            with tf.GradientTape() as tape:
                loss = tf.square(steep + flat * 1e-3)
            steps = tape.gradient(loss, [steep, flat])
            steep.assign_sub(500.0 * steps[0])  # too far
            flat.assign_sub(500.0 * steps[1])

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("too far"))
    assert "steep grew about" in found.summary and "(1,000×, to begin with)" in (found.fix or "")


@pytest.mark.parametrize("caught", [False, True])
def test_an_error_that_ends_a_thread_is_told_though_the_program_goes_on(recorded: Recorded, caught: bool) -> None:
    said = []

    def look_up() -> None:
        try:
            tf.gather(tf.ones([3]), [5])  # beyond
        except tf.errors.InvalidArgumentError:
            if not caught:
                raise

    def program() -> None:
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
        tf.add(1.0, 2.0)

    before, threading.excepthook = threading.excepthook, lambda what: said.append(what.exc_type)
    try:
        found = diagnosis(recorded(program)).findings
        assert len(said) == (0 if caught else 1), "whoever was told is told"
    finally:
        threading.excepthook = before
    places = [(one.cause, one.line) for one in found]
    assert places == ([] if caught else [("index-out-of-range", marked("beyond"))])


def test_two_bugs_are_two_findings(recorded: Recorded) -> None:
    def program() -> None:
        first, second = tf.Variable(0.0), tf.Variable(0.0)
        first.assign(tf.math.log(tf.constant([0.0]))[0])  # first
        second.assign(tf.sqrt(tf.constant([-4.0]))[0])  # second

    found = diagnosis(recorded(program)).findings
    assert [(one.cause, one.line) for one in found] == [
        ("log-zero", marked("first")),
        ("sqrt-negative", marked("second")),
    ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_overflows(recorded: Recorded, dtype: str) -> None:
    large = 3e38 if dtype == "bfloat16" else 60000.0

    def program() -> None:
        x = tf.cast(tf.constant([large]), dtype)
        (x + x).numpy()  # doubled

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("half-overflow", marked("doubled"))


def test_an_op_that_was_fused_is_named_by_its_own_line(recorded: Recorded) -> None:
    @tf.function
    def score(n: Any) -> Any:
        logarithm = tf.math.log(tf.cast(n, tf.float32) - 5.0)  # logarithm
        return tf.exp(logarithm) + 1.0

    found = finding(recorded(lambda: score(tf.constant(3))))
    assert (found.cause, found.line) == ("log-negative", marked("logarithm"))


def test_a_nan_that_the_program_asks_about_and_skips_is_healthy(recorded: Recorded) -> None:
    weight = tf.Variable(1.0)

    def program() -> None:
        for step in range(4):
            with tf.GradientTape() as tape:
                loss = tf.sqrt(weight * (0.0 if step == 1 else 2.0))
            gradient = tape.gradient(loss, weight)
            if tf.math.is_finite(gradient):
                weight.assign_sub(0.1 * gradient)

    assert diagnosis(recorded(program)).verdict == "healthy"


def test_a_recording_that_looked_at_no_values_is_not_called_healthy(recorded: Recorded) -> None:
    found = diagnosis(recorded(lambda: tf.math.log(tf.constant([0.0])), mode="SHAPE"))
    assert found.blind == "SHAPE" and not found.findings
    assert "the values of tensors" in [entry["what"] for entry in found.not_covered]
