"""The guard beside recordings, expectations and the program itself: none changes what another does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import guarded
from tests.compat.guarded import X, alarm
from tests.compat.looking import bits, marked

import tensorsleuth
from tensorsleuth.core.errors import NumericsError, SleuthError
from tensorsleuth.core.layout.rows import EventFlag

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

guard = guarded.guard  # a fixture


@tf.function
def log_loss(x: Any) -> Any:
    logs = tf.math.log(x + 0.0)  # log in a function
    return -tf.reduce_sum(logs)


def test_together_with_a_recording(tmp_path: Path) -> None:
    line = marked("log in a function")
    with tensorsleuth.guard():
        with tensorsleuth.record(tmp_path / "a") as recording:
            alarm(lambda: log_loss(X), line, "log_loss")
        assert recording.path is not None and any(tensorsleuth.open(recording.path).bad())
        alarm(lambda: log_loss(X), line, "log_loss")
    with tensorsleuth.record(tmp_path / "b") as recording:
        with tensorsleuth.guard():
            alarm(lambda: log_loss(X), line, "log_loss")
        assert np.isinf(log_loss(X).numpy())
    assert recording.path is not None and any(tensorsleuth.open(recording.path).bad())


def test_a_recording_that_does_not_look(tmp_path: Path) -> None:
    with tensorsleuth.guard(), tensorsleuth.record(tmp_path, mode="NO_TENSOR"):
        alarm(lambda: log_loss(X), marked("log in a function"), "log_loss")
    with tensorsleuth.record(tmp_path, mode="NO_TENSOR"), pytest.raises(SleuthError, match="NO_TENSOR"):
        tensorsleuth.guard()


def test_it_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shared = set(os.listdir("/dev/shm"))
    open_before = len(os.listdir("/proc/self/fd"))
    with tensorsleuth.guard(), pytest.raises(NumericsError):
        log_loss(X)
    assert os.listdir(tmp_path) == [] and set(os.listdir("/dev/shm")) <= shared
    assert len(os.listdir("/proc/self/fd")) <= open_before


@pytest.mark.parametrize("beside", [False, True])
def test_without_the_native_library(monkeypatch: pytest.MonkeyPatch, beside: bool) -> None:
    """Also beside expectations, which put frames of theirs between a function and the hook."""
    monkeypatch.setenv("SLEUTH_PROBE", "numpy")
    if beside:
        tf.function(lambda x: tensorsleuth.expect(x, finite=True), jit_compile=True)(X)
    line = marked("log in a function")
    with tensorsleuth.guard():
        tf.function(lambda x: tf.reduce_sum(tf.where(x > 0, tf.math.log(x), 0.0)))(X).numpy()
        alarm(lambda: log_loss(X), line, "log_loss")
        quotient = X[1] / X[0]  # quotient
        alarm(lambda: float(quotient), marked("quotient"), "Python")
    with tensorsleuth.guard(strict=True):
        alarm(lambda: log_loss(X), line, "log_loss (strict)")


def test_the_guarded_program_computes_the_same_bits() -> None:
    step = tf.function(lambda x: tf.reduce_sum(tf.exp(tf.linalg.matmul(x, x) / 3.0)))
    x = tf.random.stateless_normal([64, 64], [1, 2]) * 0.1
    bare = bits(step(x))
    with tensorsleuth.guard():
        assert bits(step(x)) == bare


def test_growth_is_told_by_what_came_long_before(guard: Any) -> None:
    weight = tf.Variable(1.0)

    def train() -> None:
        for _ in range(30):
            with tf.GradientTape() as tape:
                loss = tf.square(weight)
            weight.assign_sub(50.0 * tape.gradient(loss, weight))  # update of its own

    error = alarm(train, marked("update of its own"), "the loss")
    assert error.findings[0].cause == "learning-rate"


def test_a_flight_recorder_looks_on_while_the_guard_does(tmp_path: Path) -> None:
    with tensorsleuth.guard(), tensorsleuth.record(tmp_path, mode="FLIGHT") as recording:
        tf.function(lambda x: tf.math.log(x) * 2.0)(tf.constant([1.0, 2.0]))
        tf.math.log(tf.constant([4.0]))
    assert recording.path is not None
    looks = tensorsleuth.open(recording.path).tensors(op="Log").health["max"]
    assert len(looks) == 1  # that of the eager op: a function's tensors are not examined while all goes well
    events = tensorsleuth.open(recording.path).events
    assert not (events["flags"] & EventFlag.MOMENTS).any()  # FULL_HEALTH, no closer
