"""log: a print that works in eager code, graphs, loops, datasets and XLA, and reaches the trace with step and line."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.series import LogMessage

Said = Callable[[], list[str]]


@pytest.fixture
def said(capfd: pytest.CaptureFixture[str]) -> Said:
    """The lines on stderr, without what TensorFlow itself says."""
    return lambda: [line for line in capfd.readouterr().err.splitlines() if line.startswith((">", "tensorsleuth"))]


def test_eager(said: Said) -> None:
    loss = tf.constant(0.12345)
    tensorsleuth.log("> loss {loss:.3f} of {} {name!r}", 7, loss=loss, name="net")
    tensorsleuth.log("> {x:.1f} {x.shape} {x[0][1]:.2f} {w}", x=tf.constant([[1.0, 2.5]]), w=tf.constant("ä"))
    tensorsleuth.log("> {v} {{}}", v=tf.Variable(3))
    assert said() == ["> loss 0.123 of 7 'net'", "> [[1.0 2.5]] (1, 2) 2.50 ä", "> 3 {}"]


def test_without_tensors_it_is_a_print(said: Said) -> None:
    tensorsleuth.log("> hello")
    assert said() == ["> hello"]


@pytest.mark.parametrize("compiled", [False, True])
def test_in_a_function_once_for_each_call(said: Said, compiled: bool) -> None:
    @tf.function(jit_compile=compiled)
    def double(x: Any) -> Any:
        tensorsleuth.log("> x {x:.1f} {kind}", x=x, kind="plain")
        return x * 2.0

    for value in (1.0, 2.0, 3.0):
        double(tf.constant(value))
    assert said() == ["> x 1.0 plain", "> x 2.0 plain", "> x 3.0 plain"]


def test_the_order_is_that_of_the_program(said: Said) -> None:
    @tf.function
    def count(n: Any) -> Any:
        tensorsleuth.log("> begin {n}", n=n)
        for i in tf.range(n):
            if i % 2 == 0:
                tensorsleuth.log("> even {i}", i=i)
            else:
                tensorsleuth.log("> odd {i}", i=i)
        tensorsleuth.log("> end")
        return n

    count(tf.constant(4))
    assert said() == ["> begin 4", "> even 0", "> odd 1", "> even 2", "> odd 3", "> end"]


def test_of_a_compiled_loop_the_last_is_said(said: Said) -> None:
    @tf.function(jit_compile=True)
    def count(n: Any) -> Any:
        for i in tf.range(3):
            tensorsleuth.log("> i {i}", i=i)
            n += i
        return n

    count(tf.constant(4))
    count(tf.constant(4))
    assert said() == ["> i 2 (the last of 3 times in compiled code)"] * 2


def test_a_compiled_call_that_raises_has_said_it_before(said: Said) -> None:
    """What was logged in the call that an expectation ends is printed, and not counted with the next."""

    @tf.function(jit_compile=True)
    def double(x: Any) -> Any:
        tensorsleuth.log("> x {x:.0f}", x=x)
        return tensorsleuth.expect(x * 2.0, between=(0, 10))

    with pytest.raises(tensorsleuth.ExpectationError):
        double(tf.constant(100.0))
    assert said() == ["> x 100"]
    double(tf.constant(3.0))
    with pytest.raises(tensorsleuth.ExpectationError):
        double(tf.constant(7.0))
    assert said() == ["> x 3", "> x 7"]


def test_a_compiled_function_in_another(said: Said) -> None:
    @tf.function(jit_compile=True)
    def inner(x: Any) -> Any:
        tensorsleuth.log("> inner {x:.0f}", x=x)
        return x + 1.0

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x)

    outer(tf.constant(1.0))
    outer(tf.constant(2.0))
    assert said() == ["> inner 1", "> inner 2"]


def test_a_function_that_ran_uncompiled_and_then_in_a_compiled_one(said: Said) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        tensorsleuth.log("> inner {x:.0f}", x=x)
        return x + 1.0

    outer = tf.function(lambda x: inner(x) * 2.0, jit_compile=True)
    inner(tf.constant(1.0))
    assert outer(tf.constant(2.0)).numpy() == 6.0
    inner(tf.constant(3.0))
    assert said() == ["> inner 1", "> inner 2", "> inner 3"]


def test_dtypes_and_texts(said: Said) -> None:
    @tf.function
    def show(x: Any) -> None:
        tensorsleuth.log("> {a} {b} {c:d} {d} {e:.2f}", a=x > 1, b=tf.strings.as_string(x), c=tf.cast(x, tf.int64), d=tf.constant(["längerer Text als 23 Bytes", "b"]), e=tf.cast(x, tf.bfloat16))  # fmt: skip  # noqa: E501

    show(tf.constant(2.5))
    assert said() == ["> True 2.500000 2 [b'l\\xc3\\xa4ngerer Text als 23 Bytes' b'b'] 2.50"]


def test_in_a_dataset_and_in_a_gradient(said: Said) -> None:
    def note(x: Any) -> Any:
        tensorsleuth.log("> row {x}", x=x)
        return x

    assert [int(x) for x in tf.data.Dataset.range(3).map(note)] == [0, 1, 2]

    @tf.function
    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            tensorsleuth.log("> y {y:.0f}", y=y)
        return tape.gradient(y, x)

    assert float(slope(tf.constant(3.0))) == 6.0
    assert said() == ["> row 0", "> row 1", "> row 2", "> y 9"]


def test_it_reaches_the_trace(tmp_path: Path, said: Said) -> None:
    weights = tf.Variable(2.0)

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = weights * x
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        tensorsleuth.log("> loss {loss:.2f}", loss=loss)  # IN GRAPH
        return loss

    with tensorsleuth.record(tmp_path) as recording:
        for number in range(3):
            step(tf.constant(1.0))
            tensorsleuth.log("> step {number} is over", number=number)  # EAGER
    assert recording.path is not None
    logs = tensorsleuth.open(recording.path).logs()
    assert [str(one) for one in logs] == said() and len(logs) == 6
    assert [one.step for one in logs] == [0, 0, 1, 1, 2, 2]
    lines = [marked("IN GRAPH"), marked("EAGER")] * 3
    assert [one.line for one in logs] == lines
    assert all(os.path.basename(str(one.file)) == os.path.basename(__file__) for one in logs)
    assert [one.time for one in logs] == sorted(one.time for one in logs)
    assert isinstance(logs[0], LogMessage)


def test_a_step_that_is_run_again_says_nothing_twice(tmp_path: Path, said: Said) -> None:
    @tf.function
    def bad(x: Any) -> Any:
        tensorsleuth.log("> x {x:.0f}", x=x)
        return tf.math.log(x - 1.0)

    with tensorsleuth.record(tmp_path, mode="FLIGHT"):
        bad(tf.constant(1.0))
        bad(tf.constant(0.0))
    assert said() == ["> x 1", "> x 0"]


def test_threads_do_not_mix_their_lines(said: Said) -> None:
    @tf.function
    def show(x: Any, thread: Any) -> Any:
        tensorsleuth.log("> {thread} {x}", x=x, thread=thread)
        return x

    show(tf.constant(-1), tf.constant(-1))
    threads = [
        threading.Thread(target=lambda at=at: [show(tf.constant(x), tf.constant(at)) for x in range(20)])
        for at in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = said()[1:]
    for at in range(4):
        assert [line for line in lines if line.startswith(f"> {at} ")] == [f"> {at} {x}" for x in range(20)]


def test_a_format_that_does_not_fit_costs_no_program(said: Said) -> None:
    @tf.function
    def show(x: Any) -> Any:
        tensorsleuth.log("> {x:d}", x=x)
        return x

    assert float(show(tf.constant(1.5))) == 1.5
    (line,) = said()
    assert line.startswith("> {x:d} (x=1.5; ValueError: Unknown format code 'd'")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{loss} {acc}", {"loss": 1}), ["'{loss} {acc}'", "field 'acc'", "given are: loss"]),
        (("{} {}", 1), ["field '1'", "given are: 0"]),
        (("{",), ["not a format string", "Write {{"]),
        ((np.float32(1),), ["must be a string", "log('{x}', x=x)"]),
    ],
)
def test_wrong_use(arguments: Any, words: list[str]) -> None:
    text, *rest = arguments
    fields = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    with pytest.raises(SleuthError) as error:
        tensorsleuth.log(text, *rest, **fields)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_what_get_concrete_function_gave_is_left_out_of_compiled_code(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """XLA has no kernel for it, and it was traced without knowing."""

    @tf.function
    def doubled(x: Any) -> Any:
        tensorsleuth.log("x is {x}", x=x)
        return tensorsleuth.watch(x * 2.0, name="doubled")

    with tensorsleuth.record(tmp_path):
        kept = doubled.get_concrete_function(tf.TensorSpec([]))
        around = tf.function(lambda x: kept(x) + 1.0, jit_compile=True)
        assert [float(around(tf.constant(value))) for value in (1.0, 2.0)] == [3.0, 5.0]
        assert float(kept(tf.constant(4.0))) == 8.0
    said = capfd.readouterr().err
    assert said.count("x is 4.0") == 1 and "x is 1" not in said
    assert said.count("is compiled by XLA, and calls an earlier result of get_concrete_function(): ") == 1
    assert "expect, log and watch do nothing in that. Call the tf.function itself." in said
