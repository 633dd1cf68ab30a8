"""Datasets, Python bodies, threads, ragged and sparse tensors are recorded."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import assert_joined, bits, in_graph, looks, marked, only

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Compared = Callable[..., Trace]
X = tf.constant([1.0, 2.0, 0.0])


@pytest.mark.parametrize("parallel", [None, 2, tf.data.AUTOTUNE])
def test_map_functions(compared: Compared, parallel: int | None) -> None:
    def program() -> Any:
        def log(x: Any) -> Any:
            return tf.math.log(x)  # log in a map function

        return list(tf.data.Dataset.from_tensor_slices(X).map(log, num_parallel_calls=parallel))

    trace = compared(program)
    found = in_graph(trace, "Log")
    assert {look.line for look in found} == {marked("log in a map function")}
    assert sorted(look.bad for look in found) == [False, False, True]


def test_map_functions_with_dead_code(compared: Compared) -> None:
    def program() -> Any:
        def log(x: Any) -> Any:
            _ = tf.exp(x) * 2.0 + tf.sin(x)
            return tf.math.log(x)

        return list(tf.data.Dataset.from_tensor_slices(X).map(log))

    assert [look.bad for look in in_graph(compared(program), "Log")].count(True) == 1


def test_pipelines(compared: Compared) -> None:
    def program() -> Any:
        dataset = tf.data.Dataset.range(6).map(lambda i: tf.cast(i, tf.float32))
        dataset = dataset.filter(lambda x: tf.sin(x) > -0.5).shuffle(4, seed=3).map(lambda x: (x, tf.exp(x)))
        dataset = dataset.flat_map(lambda x, y: tf.data.Dataset.from_tensors(x + y)).batch(2)
        dataset = dataset.map(lambda x: tf.math.log(x)).prefetch(1).cache().take(2)
        total = dataset.reduce(tf.zeros([2]), lambda total, x: total + tf.cosh(x))
        return [*dataset, total]

    trace = compared(program)
    assert len(in_graph(trace, "Sin")) >= 6
    assert {look.process.shape_of(look.row) for look in in_graph(trace, "Log")} == {(2,)}
    assert len(in_graph(trace, "Cosh")) == 2


def test_generators_and_interleave(compared: Compared) -> None:
    def program() -> Any:
        def numbers() -> Any:
            yield from (1.0, 0.0, 2.0)

        dataset = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([]))
        dataset = dataset.interleave(lambda x: tf.data.Dataset.from_tensors(tf.math.log(x)), cycle_length=2)
        return (
            list(dataset.scan(0.0, lambda total, x: (total + x, tf.exp(x))).unbatch().batch(3)) if 0 else list(dataset)
        )

    assert sorted(look.bad for look in in_graph(compared(program), "Log")) == [False, False, True]


def test_datasets_made_before_recording_still_run(compared: Compared) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(X).map(lambda x: tf.math.log(x))
    trace = compared(lambda: list(dataset))
    assert "functions of datasets made before recording began" in [entry["what"] for entry in trace.not_covered]


def test_datasets_made_while_recording_are_covered(compared: Compared) -> None:
    trace = compared(lambda: list(tf.data.Dataset.from_tensor_slices(X).map(lambda x: tf.math.log(x)).batch(2)))
    assert trace.not_covered == []


def test_an_iterator_outlives_the_recording(tmp_path: Path) -> None:
    def numbers() -> Any:
        return iter(tf.data.Dataset.range(5).map(lambda i: tf.sin(tf.cast(i, tf.float32))))

    bare = bits(list(numbers()))
    with tensorsleuth.record(tmp_path):
        iterator = numbers()
        first = next(iterator)
    assert bits([first, *iterator]) == bare


def test_a_dataset_outlives_the_recording(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path):
        dataset = tf.data.Dataset.from_tensor_slices(X).map(lambda x: tf.exp(x) + 1.0)
        during = bits(list(dataset))
    assert bits(list(dataset)) == during
    assert bits(list(dataset.map(lambda x: x - 1.0))) != during


def test_map_functions_that_call_others(compared: Compared) -> None:
    """The smallest of them is too small for TensorFlow's graph optimizer."""

    def program() -> Any:
        inner = tf.function(lambda x: tf.math.log(x))
        dataset = tf.data.Dataset.from_tensor_slices(X)
        small = dataset.map(lambda x: inner(x))
        larger = dataset.map(lambda y: inner(y) + 1.0)
        branching = dataset.map(lambda z: tf.cond(z > 1.0, lambda: inner(z), lambda: z))
        return list(small), list(larger), list(branching)

    assert len(in_graph(compared(program), "Log")) == 3 + 3 + 1


def test_py_function_and_numpy_function_bodies(compared: Compared) -> None:
    def program() -> Any:
        def body(x: Any) -> Any:
            return tf.math.log(x)  # log in a py_function

        @tf.function
        def function(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.py_function(body, [x], tf.float32)
            z = tf.numpy_function(lambda array: np.sqrt(array + 1.0), [x], tf.float32)
            return y, tape.gradient(y, x), tf.ensure_shape(z, [3]) * 2.0

        return function(X)

    trace = compared(program)
    look = only([look for look in looks(trace, "Log") if not look.in_graph])
    assert look.bad and look.line == marked("log in a py_function")
    assert only(in_graph(trace, "EagerPyFunc", None)[:1]).bad
    assert in_graph(trace, "PyFunc") or in_graph(trace, "PyFuncStateless")


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2,
    reason="on one core bare TensorFlow deadlocks if a py_function calls a function",
)
def test_functions_called_from_py_function(compared: Compared) -> None:
    def program() -> Any:
        inner = tf.function(lambda x: tf.math.log(x))
        outer = tf.function(lambda x: tf.py_function(inner, [x], tf.float32) + 1.0)
        return outer(X)

    trace = compared(program)
    assert only(in_graph(trace, "Log")).bad
    assert_joined(trace)


def test_threads_started_before_and_after(compared: Compared) -> None:
    function = tf.function(lambda x: tf.math.log(x))
    with ThreadPoolExecutor(1) as before:
        before.submit(function, X).result()

        def program() -> Any:
            eager = before.submit(tf.exp, X).result()
            with ThreadPoolExecutor(1) as after:
                return eager, before.submit(function, X).result(), after.submit(function, X + 1.0).result()

        trace = compared(program)
    assert [look.bad for look in in_graph(trace, "Log")] == [True, False]
    assert len({int(look.row["thread"]) for look in looks(trace) if not look.in_graph}) == 3
    assert_joined(trace)


def test_one_function_in_many_threads_at_once(compared: Compared) -> None:
    function = tf.function(lambda x: tf.reduce_sum(tf.exp(x) * 2.0))
    start = threading.Barrier(4)

    def work(number: int) -> list[Any]:
        start.wait()
        return [function(tf.fill([50], float(number * 100 + i) / 100.0)) for i in range(25)]

    def program() -> Any:
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(work, range(4)))

    trace = compared(program)
    arguments = {look.call: look.row["min"] for look in looks(trace) if look.type == "Fill"}
    process = trace.processes[0]
    fills = {}  # uid of a tensor -> its value
    for look in looks(trace, "Fill"):
        fills[int(look.row["iteration"]) | int(look.row["frame"]) << 32] = look.row["max"]
    given = {int(row["call"]): fills[int(row["inputs"][0])] for row in process.calls if row["kind"] == 2}
    exps = in_graph(trace, "Exp")
    assert len(exps) == len(given) == len(arguments) == 100
    for look in exps:
        assert look.call is not None
        assert look.row["max"] == pytest.approx(float(np.exp(given[look.call])), rel=1e-5)


def test_ragged_and_sparse(compared: Compared) -> None:
    def program() -> Any:
        ragged = tf.ragged.constant([[1.0, 2.0], [], [0.0]])
        sparse = tf.sparse.from_dense([[1.0, 0.0], [0.0, -4.0]])

        @tf.function
        def function(r: Any, s: Any) -> Any:
            logs = tf.math.log(r)  # log of ragged
            roots = tf.sparse.map_values(tf.sqrt, s)  # sqrt of sparse
            return logs.to_tensor(), tf.sparse.sparse_dense_matmul(roots, tf.ones([2, 2])), tf.reduce_sum(logs, 1)

        return *function(ragged, sparse), tf.math.log(ragged).flat_values

    trace = compared(program)
    assert only(in_graph(trace, "Log")).line == marked("log of ragged")
    root = only(in_graph(trace, "Sqrt"))
    assert root.line == marked("sqrt of sparse") and root.row["nan"] == 1
    assert len(in_graph(trace, "SparseTensorDenseMatMul")) == 1
    assert_joined(trace)
