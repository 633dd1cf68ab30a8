"""Where tensors lie and when they die, on a real TensorFlow: the rows of buffers.bin."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tensorsleuth.core.layout.rows import BufferKind
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
MODES = ["NO_TENSOR", "SHAPE", "FULL_HEALTH"]


def rows(trace: Trace) -> list[tuple[str, str, int, tuple[int, ...] | None]]:
    """Kind, op, address, shape."""
    process = trace.processes[0]
    said = []
    for row in process.buffers:
        tensor = process.tensor(row["tensor"])
        name = BufferKind(int(row["kind"])).name
        said.append((name, tensor.type if tensor else "?", int(row["address"]), process.shape_of(row)))
    return said


@pytest.mark.parametrize("mode", MODES)
def test_views_share_an_address_and_each_death_is_told(recorded: Recorded, mode: str) -> None:
    def program() -> None:
        a = tf.ones([256, 256])
        b = tf.reshape(a, [-1])
        del a
        tf.ones([10])
        del b

    (born, seen, first, second) = rows(recorded(program, mode=mode))
    assert (born[0], seen[0], first[0], second[0]) == ("EAGER", "EAGER", "FREED", "FREED")
    assert len({row[2] for row in (born, seen, first, second)}) == 1, "one address: one buffer"
    assert [first[1], second[1]] == [born[1], seen[1]] == ["Fill", "Reshape"]
    assert born[3] == (256, 256) and second[3] == (65536,)


@pytest.mark.parametrize("mode", MODES)
def test_tensors_in_functions_have_rows(recorded: Recorded, mode: str) -> None:
    @tf.function
    def double(x: Any) -> Any:
        return tf.matmul(x, x) @ x

    def program() -> None:
        double(tf.ones([200, 200]))

    trace = recorded(program, mode=mode)
    said = rows(trace)
    inside = [row for row in said if row[0] == "GRAPH"]
    assert [row[1] for row in inside] == ["MatMul", "MatMul"] and {row[3] for row in inside} == {(200, 200)}
    (returned,) = [row for row in said if row[0] == "EAGER" and "double" in row[1]]
    assert returned[2] == inside[-1][2], "what it returned lies where it was computed"
    assert ("FREED", *returned[1:]) in said


def test_whole_numbers_and_arrays_from_python_have_rows_too(recorded: Recorded) -> None:
    def program() -> None:
        images = tf.constant(np.zeros((100, 28, 28), np.uint8))
        tf.cast(images, tf.int32)

    said = [row[:2] + row[3:] for row in rows(recorded(program))]
    assert said[0] == ("EAGER", "Feed", (100, 28, 28))
    assert ("EAGER", "Cast", (100, 28, 28)) in said and ("FREED", "Feed", (100, 28, 28)) in said


def test_a_variable_lives_as_long_as_its_handle(recorded: Recorded) -> None:
    def program() -> None:
        variable = tf.Variable(tf.zeros([200, 200]))
        variable.assign_add(tf.ones([200, 200]))
        del variable
        gc.collect()

    gc.collect()  # what other tests left
    said = rows(recorded(program))
    assert [row[0] for row in said if row[1] == "VarHandleOp"] == ["EAGER", "FREED"]


def test_the_programs_own_weak_references_and_lifetimes_are_as_ever(recorded: Recorded) -> None:
    died: list[str] = []

    def program() -> None:
        tensor = tf.ones([256, 256])
        weakref.finalize(tensor, died.append, "gone")
        assert weakref.ref(tensor)() is tensor and not died
        del tensor
        assert died == ["gone"]

    assert [row[0] for row in rows(recorded(program))] == ["EAGER", "FREED"]


def test_a_tensor_that_outlives_the_recording_is_let_go_in_peace(recorded: Recorded) -> None:
    kept: list[Any] = []
    trace = recorded(lambda: kept.append(tf.ones([256, 256])))
    kept.clear()
    assert [row[0] for row in rows(trace)] == ["EAGER"]


def test_a_tensor_that_dies_in_a_later_recording_has_no_row_there(recorded: Recorded) -> None:
    kept: list[Any] = []
    recorded(lambda: kept.append(tf.ones([256, 256])))

    def program() -> None:
        kept.clear()
        tf.zeros([256, 256])

    assert [row[:2] for row in rows(recorded(program))] == [("EAGER", "Fill"), ("FREED", "Fill")]


def test_memory_is_sampled_while_a_program_runs(recorded: Recorded) -> None:
    kept: list[Any] = []

    def program() -> None:
        tf.constant(1.0) + 1.0
        kept.append(np.ones(16 << 20, np.float32))  # from the system, not from a pool of TensorFlow

    trace = recorded(program)
    memory = trace.processes[0].memory
    assert len(memory) >= 2
    assert int(memory["resident"][-1]) - int(memory["resident"][0]) > 32 << 20, "64 MB are kept"


def test_without_the_native_library_that_is_said(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_PROBE", "numpy")
    trace = recorded(lambda: tf.ones([256, 256]))
    assert not len(trace.processes[0].memory) and not len(trace.processes[0].buffers)
    assert any(entry["what"].startswith("memory: ") for entry in trace.not_covered)
