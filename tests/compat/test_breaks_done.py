"""What is done where a condition holds, and what a predicate sees."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.breakable import HERE, X, grow, hits_of, line, logarithm, nothing, train, weights

import tensorsleuth
from tensorsleuth.core.errors import BreakError, SleuthError
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.live.breakpoints.hit import Hit
from tensorsleuth.trace.storage.saved_steps import saved_steps_of


@pytest.mark.parametrize("call", [logarithm, tf.math.log], ids=["function", "eager"])
def test_stop(call: Any) -> None:
    for _ in range(2):
        with pytest.raises(BreakError) as raised, tensorsleuth.break_when("neg_inf > 0", then="stop"):
            call(tf.constant([0.0, 1.0]))
        text = str(raised.value)
        file = HERE if call is logarithm else os.path.basename(__file__)
        assert "neg_inf > 0" in text and file in text and "neg_inf 1" in text and "Log:0" in text
        assert raised.value.hit.value.tolist() == [-np.inf, 0.0]
    assert call(tf.constant([1.0, 1.0])) is not None


def test_what_the_function_raises_is_raised_in_the_program() -> None:
    def refuse(hit: Hit) -> None:
        raise LookupError(hit.op.type)

    for call in (logarithm, tf.math.log):
        with (
            pytest.raises(LookupError, match="Log"),
            tensorsleuth.break_when("bad", on="op:Log", then=refuse),
        ):
            call(tf.constant([0.0]))


def test_times() -> None:
    point = tensorsleuth.break_when("size > 0", on="op:Mul", then=nothing, times=2)
    with point:
        grow(tf.constant([1.0]), 5)
    assert len(point.hits) == 2
    point.remove()


def test_several_at_a_time() -> None:
    with (
        tensorsleuth.break_when("max >= 8", on="op:Mul", then=nothing) as large,
        tensorsleuth.break_when("max < 4", on="op:Mul", then=nothing) as small,
    ):
        grow(tf.constant([1.0]), 5)
        with tensorsleuth.break_when("max == 4", on="op:Mul", then=nothing) as exact:
            grow(tf.constant([1.0]), 5)
        grow(tf.constant([1.0]), 1)
    assert (len(large.hits), len(small.hits), len(exact.hits)) == (6, 3, 1)
    assert len(hits_of(lambda: grow(tf.constant([1.0]), 5), "max == 4", on="op:Mul")) == 1


def test_more_than_there_are_numbers_for() -> None:
    for number in range(70):
        assert len(hits_of(lambda: tf.exp([1.0]), f"max > 0 and {number} < 99", on="op:Exp")) == 1
    points = [tensorsleuth.break_when("bad", on="op:Exp", then=nothing) for _ in range(20)]
    for number in range(60):
        assert len(hits_of(lambda: tf.exp([1.0]), f"max > 0 and {number} < 99", on="op:Exp")) == 1
    for point in points:
        point.remove()


def test_record_the_next_steps(tmp_path: Path) -> None:
    weights.assign([[1.0], [2.0]])
    with (
        tensorsleuth.record(tmp_path, mode="CURT_HEALTH") as recording,
        tensorsleuth.break_when("step == 2", on="op:MatMul", then="record:2") as point,
    ):
        for _ in range(8):
            train(X)
    assert len(point.hits) == 1 and recording.path is not None
    trace = tensorsleuth.open(recording.path)
    kept = {event.step for event in trace.tensors(op="MatMul") if event.value is not None}
    assert kept == {2, 3, 4}  # the gradient of step 2 comes after the hit
    flagged = [
        event.step for event in trace.tensors() if event.row is not None and event.row["flags"] & EventFlag.MOMENTS
    ]
    assert set(flagged) == {2, 3, 4}


def test_record_needs_a_recording() -> None:
    with pytest.raises(SleuthError, match=r"tensorsleuth\.record\(\) first"):
        tensorsleuth.break_when("bad", then="record")


def test_save_keeps_the_step_that_was_hit(tmp_path: Path) -> None:
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x: Any) -> Any:
        w.assign_add(x * tf.random.uniform([]))
        return tf.reduce_sum(w * 2.0)

    with tensorsleuth.record(tmp_path) as recording:
        handle = tensorsleuth.break_when("max > 100", on="op:Mul", then="save", times=1)
        for scale in (1.0, 1000.0, 1.0):
            step(tf.constant([scale, scale]))
        handle.remove()
    assert recording.path is not None and handle.hits
    saved = saved_steps_of(recording.path)
    assert len(saved) == 1
    kept = [np.load(file) for file in sorted(saved[0].folder.glob("*.npy"))]
    assert any(np.array_equal(value, [1000.0, 1000.0]) for value in kept)  # the argument of that call


def test_save_is_refused_where_the_step_cannot_be_saved(capfd: pytest.CaptureFixture[str]) -> None:
    hits_of(lambda: tf.math.log([0.0]), "bad", then="save")
    assert "only a recording on disk saves steps" in capfd.readouterr().err


def test_a_predicate_that_raises(capfd: pytest.CaptureFixture[str]) -> None:
    def broken(op: Any, value: Any) -> bool:
        raise ZeroDivisionError("mine")

    assert hits_of(lambda: tf.exp([1.0]), broken) == []
    assert "break_when(broken) raised ZeroDivisionError: mine; taken as False" in capfd.readouterr().err


def test_what_a_predicate_sees() -> None:
    seen: list[Any] = []

    def look(op: Any, value: Any) -> bool:
        seen.append((op.name, op.type, op.layer, os.path.basename(op.file), op.line, op.step, value.tolist()))
        return False

    weights.assign([[1.0], [2.0]])
    assert hits_of(lambda: [train(X), train(X)], look, on="predict/MatMul") == []
    seen = [one for one in seen if one[0] == "predict/MatMul"]
    assert seen[0] == ("predict/MatMul", "MatMul", "predict", HERE, line("forward"), 0, [[5.0], [50.0]])
    assert [one[5] for one in seen] == [0, 1]


def test_a_predicate_on_threads_of_tensorflow_and_of_python() -> None:
    """Each waits for Python's lock; nobody may hold it while it waits for them."""
    many = tf.function(lambda x: tf.add_n([tf.reduce_sum(tf.exp(x + float(n))) for n in range(16)]))

    def slow(op: Any, value: Any) -> bool:
        time.sleep(0.001)
        return True

    with tensorsleuth.break_when(slow, on="op:Exp", then=nothing) as point:
        threads = [threading.Thread(target=lambda: many(tf.ones([4]))) for _ in range(4)]
        data = tf.data.Dataset.range(20).map(lambda n: tf.exp(tf.cast(n, tf.float32)), num_parallel_calls=4).prefetch(4)
        for thread in threads:
            thread.start()
        for _ in range(3):
            iterator = iter(data)
            next(iterator)
            del iterator
        for thread in threads:
            thread.join()
    assert len(point.hits) > 64
