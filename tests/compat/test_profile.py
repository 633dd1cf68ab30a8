"""`sleuth profile` names what holds a program up: its input, its Python, or one line that computes.

What is slow here is as slow as the rest takes, many times over, so that a busy machine cannot turn it round.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from rich.console import Console
from tests.compat.looking import marked

from tensorsleuth.analyze.profile import chrome_trace
from tensorsleuth.analyze.profile.report import ProfileReport, make_profile_report
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.terminal.profile_report import profile_report

Recorded = Callable[..., Trace]
STEPS = 6
TIMES = 5  # how much slower than all the rest,
LEAST = 0.05  # and at least that many seconds: a busy machine stops a thread for less


class Slow:
    """Waits several times as long as has passed since it last waited."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def wait(self) -> None:
        time.sleep(TIMES * (time.monotonic() - self._since) + LEAST)
        self._since = time.monotonic()


def train_step(weight: Any) -> Any:
    @tf.function
    def train(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(x * weight))
        weight.assign_sub(0.01 * tape.gradient(loss, weight))

    return train


def told(trace: Trace) -> ProfileReport:
    return make_profile_report(trace)[0]


@pytest.fixture(scope="module")
def weight() -> Any:
    return tf.Variable(tf.ones([8]))


def test_a_slow_generator_is_input_bound(recorded: Recorded, weight: Any) -> None:
    def batches() -> Iterator[Any]:
        slow = Slow()
        for _ in range(STEPS):
            slow.wait()
            yield [1.0] * 8

    train = train_step(weight)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=tf.TensorSpec([8]))

    def program() -> None:
        for x in dataset:  # LINE: slow
            train(x)

    found = told(recorded(program))
    assert found.bottleneck.by == "input", found
    assert (found.bottleneck.file, found.bottleneck.line) == (__file__, marked("LINE: slow"))
    assert found.bottleneck.says.startswith("Input-bound: ") and "test_profile.py:" in found.bottleneck.says
    assert max(found.parts, key=lambda part: found.parts[part]) == "input"


def test_a_function_that_waits_for_its_batches_is_input_bound_at_its_line(recorded: Recorded) -> None:
    """The op that takes the batch runs in the function; only one of its outputs has a row, and Cast takes the other."""

    def batches() -> Iterator[Any]:
        slow = Slow()
        for _ in range(STEPS):
            slow.wait()
            yield np.ones([4, 8], np.float32), np.ones([4], np.int64)

    kinds = (tf.TensorSpec([4, 8]), tf.TensorSpec([4], tf.int64))
    dataset = iter(tf.data.Dataset.from_generator(batches, output_signature=kinds))
    weight = tf.Variable(tf.ones([8, 1]))

    @tf.function
    def train(iterator: Any) -> None:
        x, y = next(iterator)  # LINE: next
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, weight)[:, 0] - tf.cast(y, tf.float32)))
        weight.assign_sub(0.01 * tape.gradient(loss, weight))

    found = told(recorded(lambda: [train(dataset) for _ in range(STEPS)]))
    assert found.bottleneck.by == "input", found
    assert (found.bottleneck.file, found.bottleneck.line) == (__file__, marked("LINE: next"))
    assert found.tables["op"][0].name == "IteratorGetNext"


def test_slow_python_is_python_bound(recorded: Recorded, weight: Any) -> None:
    train = train_step(weight)
    x = tf.ones([8])

    def program() -> None:
        slow = Slow()
        for _ in range(STEPS):
            train(x)
            slow.wait()

    found = told(recorded(program))
    assert found.bottleneck.by == "python", found
    assert max(found.parts, key=lambda part: found.parts[part]) == "python"


def test_a_large_product_is_compute_bound_at_its_line(recorded: Recorded) -> None:
    side = 1500  # a product takes some 50 ms: a busy machine stops other parts of a step for less
    weight = tf.Variable(tf.ones([side, side]) * 1e-3)
    x = tf.ones([side, side])

    @tf.function
    def train() -> None:
        with tf.GradientTape() as tape:
            product = tf.matmul(x, weight)  # the large product
            loss = tf.reduce_mean(product)
        weight.assign_sub(1e-6 * tape.gradient(loss, weight))

    found = told(recorded(lambda: [train() for _ in range(STEPS)]))
    assert found.bottleneck.by == "compute", found
    assert found.tables["op"][0].name == "MatMul"
    assert found.tables["line"][0].name == f"{__file__}:{marked('the large product')}"
    assert "MatMul" in found.bottleneck.says and f":{marked('the large product')}" in found.bottleneck.says


def test_one_step_of_many_does_not_make_the_verdict(recorded: Recorded) -> None:
    weight = tf.Variable(tf.ones([800, 800]) * 1e-3)

    @tf.function
    def train() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(weight, weight))
        weight.assign_sub(1e-6 * tape.gradient(loss, weight))

    def program() -> None:
        slow = Slow()
        for step in range(12):
            train()
            if step == 8:
                slow.wait()

    found = told(recorded(program))
    assert found.bottleneck.by == "compute" and found.outliers >= 1 and found.outlier_share > 0.5, found
    assert found.steps + found.left_out + found.outliers == 12
    assert found.slowest[0].why.startswith("Python between calls")
    screen = Console(width=120, file=io.StringIO())
    screen.print(profile_report(found, "op", 5, 100))
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "without 1 step in which a function ran first and " in shown, shown
    assert "over 2 times as long as the median" in shown, shown


def test_the_parts_of_every_step_add_up_to_it(recorded: Recorded, weight: Any) -> None:
    train = train_step(weight)
    _, profile = make_profile_report(recorded(lambda: [train(tf.ones([8])) for _ in range(STEPS)]))
    sums = np.sum(list(profile.split.parts.values()), axis=0)
    assert (sums == profile.steps.end - profile.steps.begin).all()
    assert all((times >= 0).all() for times in profile.split.parts.values())


def test_writes_have_their_own_time(recorded: Recorded) -> None:
    """An op that puts nothing out has no tensor whose row could tell when it ended."""
    weight = tf.Variable(tf.ones([1 << 18]))

    @tf.function
    def write(x: Any) -> None:
        weight.assign_sub(x * 0.5)

    found = told(recorded(lambda: [write(tf.ones([1 << 18])) for _ in range(STEPS)]))
    counts = {line.name: line.count for line in found.tables["op"]}
    assert counts["AssignSubVariableOp"] == STEPS, counts


def test_a_step_that_is_traced_again_says_so(recorded: Recorded) -> None:
    weight = tf.Variable(2.0)

    @tf.function(reduce_retracing=False)
    def train(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(x * weight)
        weight.assign_sub(0.01 * tape.gradient(loss, weight))

    def program() -> None:
        for step in range(STEPS):
            train(tf.ones([8] if step != 4 else [9]))

    found = told(recorded(program))
    why = {slow.step: slow.why for slow in found.slowest}
    assert found.left_out == 2
    assert why[0] == "first call of train: tracing and optimizing"
    assert why[4] == "train was retraced, for other arguments"


def test_a_compiled_function_is_one_bar(recorded: Recorded) -> None:
    square = tf.function(lambda x: tf.square(x) + 1.0, jit_compile=True)
    found = told(recorded(lambda: [square(tf.ones([8])) for _ in range(STEPS)]))
    assert any("is one bar" in note and "XLA" in note for note in found.notes), found.notes
    assert any(line.name.endswith("(not recorded)") for line in found.tables["op"])


def test_the_chrome_trace_is_of_the_documented_format(recorded: Recorded, weight: Any, tmp_path: Path) -> None:
    """As "Trace Event Format" has it: complete events have ts and dur in microseconds, and nest on their thread."""
    train = train_step(weight)
    trace = recorded(lambda: [train(tf.ones([8])) for _ in range(STEPS)])
    _, profile = make_profile_report(trace)
    count = chrome_trace.write_trace(profile, tmp_path / "trace.json", "a run", True)
    document = json.loads((tmp_path / "trace.json").read_text())
    events = document["traceEvents"]
    assert len(events) == count and document["displayTimeUnit"] == "ms"
    assert {event["ph"] for event in events} == {"M", "X"}
    assert {event["name"] for event in events if event["ph"] == "M"} == {"process_name", "thread_name"}
    bars = [event for event in events if event["ph"] == "X"]
    assert all(event["ts"] >= 0 and event["dur"] >= 0 and event["cat"] and event["name"] for event in bars)
    assert all(isinstance(event[key], int) for event in events for key in ("pid", "tid"))
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    assert {event["tid"] for event in bars} <= named
    for lane in named:
        assert_nested([event for event in bars if event["tid"] == lane])
    assert any(event["cat"] == "op" and event["name"] == "Mul" and event["args"]["line"] for event in bars)
    assert any(event["cat"] in ("function", "call") and event["name"] == "train" for event in bars)


def assert_nested(bars: list[dict[str, Any]]) -> None:
    """Two bars of a lane are apart, or one is in the other: what viewers need."""
    open_until: list[float] = []
    for bar in sorted(bars, key=lambda bar: (bar["ts"], -bar["dur"])):
        while open_until and open_until[-1] <= bar["ts"] + 1e-3:
            open_until.pop()
        end = bar["ts"] + bar["dur"]
        assert not open_until or end <= open_until[-1] + 1e-3, bar
        open_until.append(end)
