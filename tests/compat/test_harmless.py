"""A program that is watched raises what it always raised, and lives on where recording cannot."""

from __future__ import annotations

import gc
import os
import threading
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
                total = float(np.sum(X.numpy())) + (tensorsleuth.recording.api._active is None)
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
    assert [look.type for look in looks(trace) if look.type != "Feed"] == ["Exp", "Log"]
    assert "processes that the program forks" in [entry["what"] for entry in trace.not_covered]


def test_sessions_are_listed_as_not_covered_where_probes_cannot_get_in(recorded: Recorded) -> None:
    def program() -> None:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [3])
            y = tf.function(lambda x: tf.math.log(x))(x)
            log, gradient = session.run([y, tf.gradients(y, x)], {x: X.numpy()})
        assert bits(log) == bits(tf.math.log(X)) and np.isinf(gradient[0][2])

    os.environ["SLEUTH_PROBE"] = "numpy"
    try:
        whats = [entry["what"] for entry in recorded(program).not_covered]
    finally:
        del os.environ["SLEUTH_PROBE"]
    assert "graphs that a tf.compat.v1.Session runs" in whats


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
    left = [str(name) for name in functions_in_context() if "leuth" in str(name)]
    assert not [name for name in left if not name.startswith("__wrapped__")]  # made to run an op of ours


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
                list(tf.data.Dataset.from_tensor_slices(X).map(lambda x: tf.exp(x) * 2.0 + 1.0))
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
