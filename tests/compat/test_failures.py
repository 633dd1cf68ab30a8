"""What a watched program raises is what the bare one raises: type, text, and no frame of ours."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tests.compat.looking import in_graph, only

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = tf.constant([1.0, 2.0, 0.0])
OURS = os.path.dirname(tensorsleuth.__file__)


class OwnError(Exception):
    """What a user's code raises."""


def raise_own_error(*_: Any) -> Any:
    raise OwnError("of the user")


def raise_value_error(*_: Any) -> Any:
    raise ValueError("in a py_function")


@tf.function
def fold(x: Any) -> Any:
    return tf.reshape(x, tf.stack([-1, tf.cast(x[1], tf.int32)]))


@tf.function
def nested(x: Any) -> Any:
    return fold(x * 2.0 + 1.0) + 1.0


@tf.function
def looping(x: Any, limit: Any) -> Any:
    for i in tf.range(5):
        tf.autograph.experimental.set_loop_options(parallel_iterations=1)  # else any of the later ones may fail first
        tf.debugging.assert_less(i, limit, message="too far")
        x = x + tf.gather(x, i)
    return x


@tf.function
def differentiated(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.debugging.check_numerics(tf.math.log(x), "the loss")
    return tape.gradient(y, x)


@tf.function(jit_compile=True)
def compiled(x: Any) -> Any:
    return tf.reshape(x, [2, 2])


@tf.function(input_signature=[tf.TensorSpec([2])])
def of_two(x: Any) -> Any:
    return x


FAILURES: dict[str, Callable[[], Any]] = {
    "eager": lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
    "eager attribute": lambda: tf.raw_ops.Cast(x=X, DstT=tf.string),
    "eager dtype": lambda: tf.add(X, tf.constant([1])),
    "eager index": lambda: X[7],
    "function": lambda: fold(X),
    "compiled": lambda: compiled(X),
    "nested": lambda: nested(X),
    "assert in a loop": lambda: looping(X, tf.constant(2)),
    "gather in a loop": lambda: looping(X, tf.constant(9)),
    "check_numerics": lambda: differentiated(X),
    "while tracing": lambda: tf.function(lambda x: tf.matmul(x, x))(X),
    "own error while tracing": lambda: tf.function(raise_own_error)(X),
    "py_function": lambda: tf.function(lambda x: tf.py_function(raise_value_error, [x], tf.float32))(X),
    "py_function, own error": lambda: tf.function(lambda x: tf.py_function(raise_own_error, [x], tf.float32))(X),
    "numpy_function": lambda: tf.function(lambda x: tf.numpy_function(raise_value_error, [x], tf.float32))(X),
    "input signature": lambda: of_two(X),
    "tape used twice": lambda: [tape.gradient(X, X) for tape in [tf.GradientTape()] for _ in range(2)],
    "dataset": lambda: list(tf.data.Dataset.from_tensors(X).map(lambda x: tf.gather(x, 9))),
    "end of data": lambda: next(tf.data.Dataset.range(0).as_numpy_iterator()),
    "iterator": lambda: iter(tf.data.Dataset.range(0)).get_next(),
    "tensor as bool": lambda: bool(X),
}


def failure(action: Callable[[], Any]) -> tuple[type[BaseException], str, list[str]]:
    """What it raises: type, text, and the files of its traceback."""
    try:
        action()
    except Exception as error:
        return type(error), str(error), [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    raise AssertionError("it did not fail")


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_those_of_the_bare_program(tmp_path: Path, name: str) -> None:
    failure(FAILURES[name])  # tracing changes the numbers in names, so trace first
    bare_type, bare_text, bare_files = failure(FAILURES[name])
    with tensorsleuth.record(tmp_path):
        watched_type, watched_text, watched_files = failure(FAILURES[name])
        again = failure(FAILURES[name])
    assert watched_type is bare_type is again[0]
    assert without_counts(watched_text) == without_counts(bare_text) == without_counts(again[1])
    assert not [file for file in watched_files if file.startswith(OURS)]
    assert set(watched_files) == set(bare_files)


def test_the_message_of_a_generator_has_the_frames_of_the_bare_program(tmp_path: Path) -> None:
    signature = tf.TensorSpec([], tf.string)

    def frames() -> list[str]:
        _, text, _ = failure(lambda: list(tf.data.Dataset.from_generator(raise_own_error, output_signature=signature)))
        return [line for line in text.splitlines() if line.strip().startswith("File ")]

    bare = frames()
    with tensorsleuth.record(tmp_path):
        assert frames() == bare and len(bare) > 1


def without_counts(text: str) -> str:
    """The text less the numbers that TensorFlow counts up: of functions, and addresses."""
    return re.sub(r"_\d+\b|0x[0-9a-f]+|(?<=Dataset:)\d+", "", text)


def test_exceptions_without_traceback_filtering(tmp_path: Path) -> None:
    tf.debugging.disable_traceback_filtering()
    try:
        bare = failure(lambda: nested(X))
        with tensorsleuth.record(tmp_path):
            watched = failure(lambda: nested(X))
    finally:
        tf.debugging.enable_traceback_filtering()
    assert watched[:2] == bare[:2]


def test_a_failure_is_recorded(recorded: Recorded) -> None:
    trace = recorded(lambda: failure(lambda: nested(X)))
    (noted,) = trace.processes[0].catalogue.failures
    assert noted.type == "InvalidArgumentError" and "Input to reshape" in noted.message
    assert only(in_graph(trace, "AddV2")).row["max"] == 5.0


def test_keyboard_interrupt_comes_through(tmp_path: Path) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    with tensorsleuth.record(tmp_path), pytest.raises(KeyboardInterrupt):
        tf.function(interrupt)(X)
