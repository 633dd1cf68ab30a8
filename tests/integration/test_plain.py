"""Without the native library a program is recorded from Python: the same files, the same rows."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.integration import three_ways

import tensorsleuth
from tensorsleuth.core.layout.rows import EVENT, VALUE, CallKind, EventKind
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage.ring_reader import RingFile
from tensorsleuth.trace.storage.ring_writer import RingWriter
from tensorsleuth.trace.storage.size_plan import RingPlan


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    folder = tmp_path_factory.mktemp("plain")
    return {probe: three_ways.record(folder, probe) for probe in ("host", "numpy")}


def test_the_same_rows_as_with_the_native_library(traces: dict[str, Trace]) -> None:
    host, plain = (three_ways.rows_by_name(traces[probe]) for probe in ("host", "numpy"))
    assert set(host) <= set(plain)  # the optimiser folds some away
    for name in host:
        three_ways.assert_same_health(plain, host, name)


def test_rows_belong_to_their_calls_and_steps(traces: dict[str, Trace]) -> None:
    (process,) = traces["numpy"].processes
    squares = [row for row in process.events if process.tensor(row["tensor"]).name == "Square"]  # type: ignore
    calls = [process.call_of(row) for row in squares]
    assert len(set(calls)) == 2 and set(calls) <= set(process.calls["call"].tolist())
    graph = process.events[process.events["kind"] == EventKind.GRAPH]
    functions = {process.tensor(row["tensor"]).function.name for row in graph if process.call_of(row) is None}  # type: ignore
    assert functions and all("Dataset_map" in name for name in functions)


def test_a_failure_is_noted(traces: dict[str, Trace]) -> None:
    (process,), (host,) = traces["numpy"].processes, traces["host"].processes
    failures = [(failure.type, failure.inputs) for failure in process.catalogue.failures]
    assert failures == [(failure.type, failure.inputs) for failure in host.catalogue.failures]
    met = ("float32 [2, 2], -2 … 9", "float32 [3, 3], 0 … 0")
    assert ("InvalidArgumentError", met) in [(k, i[:2]) for k, i in failures]
    assert process.calls["kind"].tolist().count(CallKind.FAILED) == len(failures)


def test_the_program_is_as_it_was_afterwards(traces: dict[str, Trace]) -> None:
    assert three_ways.program() == three_ways.program()


@pytest.mark.parametrize("mode", ["NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_TENSOR"])
def test_modes(tmp_path: Path, mode: str) -> None:
    host, plain = (three_ways.record(tmp_path, probe, mode) for probe in ("host", "numpy"))
    theirs, ours = three_ways.rows_by_name(host), three_ways.rows_by_name(plain)
    for name in theirs:
        if mode != "FULL_TENSOR" or name[0] == "eager":  # there the optimiser leaves out views
            three_ways.assert_same_health(ours, theirs, name)


def test_values_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_PROBE", "numpy")
    with tensorsleuth.record(tmp_path, "FULL_TENSOR") as recording:
        tf.function(lambda x: x + 1)(tf.constant([1.5, 2.5], tf.bfloat16))
    (process,) = tensorsleuth.open(recording.path).processes
    (added,) = (i for i, row in enumerate(process.events) if process.tensor(row["tensor"]).type == "AddV2")  # type: ignore
    assert process.value(added).tolist() == [2.5, 3.5]  # type: ignore[union-attr]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="on one core TensorFlow runs one of the two at a time")
def test_calls_of_one_function_in_two_threads_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are inside at once, so neither's rows say whose they are."""
    both_inside = threading.Barrier(2, timeout=240)

    @tf.function
    def meet(x):
        x = tf.numpy_function(lambda v: (both_inside.wait(), v)[1], [x * 2.0], tf.float32)
        return x + tf.numpy_function(lambda v: (both_inside.wait(), v)[1], [x * 3.0], tf.float32)

    monkeypatch.setenv("SLEUTH_PROBE", "numpy")
    with tensorsleuth.record(tmp_path) as recording:
        threads = [threading.Thread(target=meet, args=(tf.constant(float(i)),)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (process,) = tensorsleuth.open(recording.path).processes
    inside = [row for row in process.events if process.tensor(row["tensor"]).name == "mul_1"]  # type: ignore
    assert [process.call_of(row) for row in inside] == [None, None]


def test_says_so_where_the_library_cannot_be_loaded(tmp_path: Path) -> None:
    code = (
        "import tensorsleuth, tensorflow as tf, pathlib\n"
        "from tensorsleuth.native import loader\n"
        "loader.LIBRARY = pathlib.Path('/nowhere/libsleuth.so')\n"
        f"with tensorsleuth.record({str(tmp_path)!r}) as r: tf.math.log(tf.constant([0.0]))\n"
        "print(len(tensorsleuth.open(r.path).events), len(list(tensorsleuth.open(r.path).bad())))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    (said,) = (line for line in done.stderr.splitlines() if line.startswith("tensorsleuth:"))
    assert "native library is missing" in said and "/nowhere/libsleuth.so" in said and "slower" in said
    assert done.stdout.split() == ["2", "1"]  # what was fed, and its logarithm


def value_row(number: int) -> tuple[int, ...]:
    return number, 0, 0, 1


def test_a_ring_keeps_the_newest_rows_and_what_surrounds_the_alarm(tmp_path: Path) -> None:
    ring = RingWriter(tmp_path / "ring.bin", VALUE, RingPlan(VALUE.itemsize, 128, 6, window=1), pytest.fail)
    for number in range(128 * 20):
        assert ring.append(value_row) == number
        if number == 300:
            ring.raise_alarm(number, kind=0)
    ring.close()
    kept = RingFile(tmp_path / "ring.bin", VALUE)
    chunks = (np.unique(kept.array["event"]) // 128).tolist()
    assert sorted(set(chunks)) == [1, 2, 3, 17, 18, 19]
    assert kept.array["event"].tolist() == kept.numbers().tolist()
    assert (kept.alarm, kept.claimed, kept.damage) == (301, 2560, [])


def test_a_full_disk_costs_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    ring = RingWriter(tmp_path / "ring.bin", EVENT, RingPlan(EVENT.itemsize, 512, 8), said.append)
    empty = np.zeros((), EVENT)
    empty["kind"] = 1
    row = tuple(empty.tolist())
    ring.append(lambda _: row)
    monkeypatch.setattr(os, "posix_fallocate", full)
    for _ in range(2000):
        ring.append(lambda _: row)
    ring.close()
    assert len(said) == 1 and "No space left" in said[0] and "the program goes on" in said[0]
    kept = RingFile(tmp_path / "ring.bin", EVENT)
    assert (len(kept), kept.claimed) == (2001 % 512, 2001)
    assert kept.damage == ["ring.bin could not grow while recording (No space left on device): 1,536 rows are lost"]


def full(*_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
