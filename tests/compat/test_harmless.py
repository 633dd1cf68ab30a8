"""A program that is watched raises what it always raised, and lives on where recording cannot."""

from __future__ import annotations

import gc
import os
import re
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tests.compat.looking import bits, in_graph, looks, only

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
    failure(FAILURES[name])  # what is traced counts up in names: trace before
    bare_type, bare_text, bare_files = failure(FAILURES[name])
    with tensorsleuth.record(tmp_path):
        watched_type, watched_text, watched_files = failure(FAILURES[name])
        again = failure(FAILURES[name])
    assert watched_type is bare_type is again[0]
    assert without_counts(watched_text) == without_counts(bare_text) == without_counts(again[1])
    assert not [file for file in watched_files if file.startswith(OURS)]
    assert set(watched_files) == set(bare_files)


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


@pytest.mark.parametrize("obstacle", ["file", "read-only", "missing root"])
def test_where_nothing_can_be_written(tmp_path: Path, obstacle: str, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "place"
    if obstacle == "file":
        place.write_text("not a folder")
    elif obstacle == "missing root":
        place = Path("/proc/1/no/such")
    else:
        place = Path("/sys/kernel/sleuth")
    with tensorsleuth.record(place) as recording:
        assert bits(tf.function(lambda x: x * 2.0)(X)) == bits(X * 2.0)
    assert recording.path is None
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith("tensorsleuth: not recording: ") and line.endswith("the program goes on.")
    assert obstacle == "missing root" or str(place) in line


def test_a_forked_child_goes_on_unwatched(tmp_path: Path) -> None:
    result, done = os.pipe()
    with tensorsleuth.record(tmp_path) as recording:
        tf.exp(X)
        child = os.fork()
        if child == 0:
            try:
                total = float(np.sum(X.numpy())) + (tensorsleuth.capture.api._active is None)  # type: ignore[attr-defined]
                os.write(done, str(total).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        tf.math.log(X)
    assert os.read(result, 99) == b"4.0"
    os.close(result)
    os.close(done)
    assert recording.path is not None
    trace = tensorsleuth.open(recording.path)
    assert [look.type for look in looks(trace)] == ["Exp", "Log"]
    assert "processes that the program forks" in [entry["what"] for entry in trace.not_covered]


def test_one_recording_after_the_other(recorded: Recorded) -> None:
    function = tf.function(lambda x: tf.math.log(x) + 1.0)
    for _ in range(3):
        trace = recorded(lambda: (function(X), tf.exp(X)))
        assert only(in_graph(trace, "Log")).bad
        assert only(looks(trace, "Exp")).call == 2
        assert trace.not_covered == []
    assert bits(function(X)) == bits(tf.math.log(X) + 1.0)


def functions_in_context() -> list[str]:
    return list(context.context().list_function_names())


def test_functions_that_are_dropped_take_their_copies_along(recorded: Recorded) -> None:
    counts = []

    def program() -> None:
        for i in range(50):
            inner = tf.function(lambda x, i=i: tf.sin(x) + float(i))
            tf.function(lambda x, inner=inner: inner(x) * 2.0)(X)
            del inner
            if i % 10 == 9:
                gc.collect()
                counts.append(len(functions_in_context()))

    recorded(program)
    assert max(counts) - min(counts) <= 20, counts
    gc.collect()
    assert not [name for name in functions_in_context() if "leuth" in str(name)]


def test_a_program_that_patches_tensorflow_itself(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorflow.python import pywrap_tfe

    calls = []
    real = pywrap_tfe.TFE_Py_FastPathExecute

    def theirs(*args: Any) -> Any:
        calls.append(args[1])
        return real(*args)

    monkeypatch.setattr(pywrap_tfe, "TFE_Py_FastPathExecute", theirs)
    monkeypatch.setattr(tf.math, "log", lambda x: tf.math.log1p(x))
    assert only(looks(recorded(lambda: tf.math.log(X)), "Log1p")).call is not None
    assert calls == ["Log1p"]
    assert pywrap_tfe.TFE_Py_FastPathExecute is theirs


def test_starting_and_stopping_under_a_busy_thread(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.reduce_sum(tf.exp(x) * 2.0))
    eager, traced = bits(tf.exp(X)), bits(function(X))
    wrong: list[Any] = []
    over = threading.Event()

    def work() -> None:
        try:
            while not over.is_set():
                wrong.extend(
                    got for got, want in ((bits(tf.exp(X)), eager), (bits(function(X)), traced)) if got != want
                )
                with tf.GradientTape() as tape:
                    tape.watch(X)
                    y = function(X)
                tape.gradient(y, X)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for cycle in range(100):
        with tensorsleuth.record(tmp_path / str(cycle % 2), circular_buffer_size=1000):
            tf.exp(X)
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []
