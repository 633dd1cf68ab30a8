"""A NaN or an infinity that the program itself gets is a problem, however it gets it, whatever ops make of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
v1 = tf.compat.v1
BATCH = np.array([0.0, 1.0], np.float32)


def log_loss(x: Any) -> Any:
    return tf.reduce_sum(tf.math.log(x))  # log


def made_finite(loss: Any) -> Any:
    """Takes the loss on, so that it is not the last that is known of it."""
    return tf.where(tf.math.is_finite(loss), loss, 0.0)


def show(value: Any) -> None:
    tf.print("loss", value, output_stream=sys.stdout)


def write_summary(value: Any, folder: Path) -> None:
    with tf.summary.create_file_writer(str(folder)).as_default(step=1):
        tf.summary.scalar("loss", value)


def write_file(value: Any, folder: Path) -> None:
    tf.io.write_file(str(folder / "loss"), tf.io.serialize_tensor(value))


READS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda loss: loss.numpy(),
    "float": float,
    "text": str,
    "format": lambda loss: f"{loss:.3f}",
    "tf.print": show,
    "as_string": tf.strings.as_string,
}


@pytest.mark.parametrize("compiled", [None, False, True], ids=["eager", "function", "xla"])
@pytest.mark.parametrize("way", READS)
def test_what_python_reads_counts_though_ops_go_on_with_it(recorded: Recorded, way: str, compiled: bool | None) -> None:
    step = log_loss if compiled is None else tf.function(log_loss, jit_compile=compiled)

    def program() -> None:
        for _ in range(3):
            loss = step(tf.constant(BATCH))
            READS[way](loss)
            made_finite(loss)

    found = tensorsleuth.diagnose(recorded(program)).findings
    assert [(one.cause, one.line) for one in found] == [("log-zero", marked("log"))]


@pytest.mark.parametrize("way", ["print", "as_string", "summary", "file"])
@pytest.mark.parametrize("nested", [False, True], ids=["direct", "nested"])
def test_what_a_function_shows_or_stores_counts(recorded: Recorded, tmp_path: Path, way: str, nested: bool) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))

    def hand_out(loss: Any) -> None:
        if way == "summary":
            with writer.as_default(step=1):
                tf.summary.scalar("loss", loss)
        elif way == "file":
            write_file(loss, tmp_path)
        else:
            show(loss if way == "print" else tf.strings.as_string(loss))

    inner = tf.function(hand_out) if nested else hand_out

    @tf.function
    def step(x: Any) -> Any:
        loss = log_loss(x)
        inner(loss)
        return made_finite(loss)

    found = tensorsleuth.diagnose(recorded(lambda: step(tf.constant(BATCH)))).findings
    assert [(one.cause, one.line) for one in found] == [("log-zero", marked("log"))]


def test_a_session_that_shows_or_summarizes(recorded: Recorded) -> None:
    def program() -> None:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [2])
            loss = log_loss(x)
            told = v1.summary.scalar("loss", loss)
            session.run([told, made_finite(loss)], {x: BATCH})

    assert [one.line for one in tensorsleuth.diagnose(recorded(program)).findings] == [marked("log")]


def test_what_a_dataset_computes_and_python_reads(recorded: Recorded) -> None:
    def program() -> None:
        for element in tf.data.Dataset.from_tensor_slices(BATCH).map(log_loss):
            float(element)

    assert [one.line for one in tensorsleuth.diagnose(recorded(program)).findings] == [marked("log")]


def hide_by_mask() -> Any:
    return tf.nn.softmax(tf.where(BATCH > 0, BATCH, -np.inf)).numpy()


def start_at_infinity() -> None:
    best = tf.Variable(np.inf)
    print(best, best.numpy())
    for _ in range(3):
        best.assign(tf.minimum(best, tf.reduce_sum(BATCH)))
    print(float(best))


def compare_in_python() -> None:
    best = np.inf
    for _ in range(3):
        loss = tf.reduce_sum(BATCH)
        best = float(loss) if loss < best else best


def guard_by_where() -> Any:
    return tf.function(lambda x: tf.where(x > 0, tf.math.log(x), 0.0))(BATCH).numpy()


def print_in_the_other_branch() -> Any:
    @tf.function
    def step(x: Any) -> Any:
        loss = log_loss(x)
        if tf.math.is_finite(loss):
            tf.print(loss, tf.exp(loss), output_stream=sys.stdout)
        return made_finite(loss)

    return step(tf.constant(BATCH)).numpy()


def show_a_mask() -> Any:
    scores = tf.where(BATCH > 0, BATCH, -np.inf)
    print(scores)
    return tf.argmax(scores).numpy()


HEALTHY = [hide_by_mask, start_at_infinity, compare_in_python, guard_by_where, print_in_the_other_branch, show_a_mask]


@pytest.mark.parametrize("program", HEALTHY, ids=lambda one: one.__name__)
def test_an_infinity_that_nobody_gets_or_that_is_meant_is_none(recorded: Recorded, program: Callable[[], Any]) -> None:
    assert tensorsleuth.diagnose(recorded(program)).verdict == "healthy"
