"""For accelerators, tensors are summed up where they live; a setting has the CPU do the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tests.integration import three_ways

import tensorsleuth
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.native.numpy_health import measure_health
from tensorsleuth.recording.backends.device_summary import summary_function
from tensorsleuth.recording.tensorflow.internals import run_function
from tensorsleuth.trace.reader import Trace


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    folder = tmp_path_factory.mktemp("device")
    return {probe: three_ways.record(folder, probe) for probe in ("host", "device")}


def test_the_same_rows_as_from_the_host(traces: dict[str, Trace]) -> None:
    host, device = (three_ways.rows_by_name(traces[probe]) for probe in ("host", "device"))
    summed_up = [name for name, rows in host.items() if name[0] == "eager" or rows[0][0] in three_ways.HALF_TO_DOUBLE]
    assert len(summed_up) > 30
    for name in summed_up:
        three_ways.assert_same_health(device, host, name)


def test_rows_say_that_the_device_made_them(traces: dict[str, Trace]) -> None:
    events = traces["device"].events
    floats = events[np.isin(events["dtype"], three_ways.HALF_TO_DOUBLE) & (events["flags"] & EventFlag.LOOKED != 0)]
    assert len(floats) and (floats["flags"] & EventFlag.DEVICE != 0).all()


def test_rows_belong_to_their_calls_and_iterations(traces: dict[str, Trace]) -> None:
    (process,) = traces["device"].processes
    halves = [row for row in process.events if process.tensor(row["tensor"]).name == "while/mul"]  # type: ignore
    assert [int(row["iteration"]) for row in halves] == [0, 1, 2, 0]
    assert [process.step_of(row) for row in halves] == [0] * 4


def test_what_it_cannot_sum_up_is_listed_once(traces: dict[str, Trace]) -> None:
    listed = [entry["what"] for entry in traces["device"].not_covered]
    assert listed.count("complex64 tensors inside functions") == 1
    assert listed.count("int32 tensors inside functions") == 1


def test_dead_ops_stay_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @tf.function
    def inner(x):
        return tf.reshape(x, [7])

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def outer(x):
        inner(x * 2.0)  # would fail if it ran
        return x + 1.0

    monkeypatch.setenv("SLEUTH_PROBE", "device")
    with tensorsleuth.record(tmp_path) as recording:
        assert outer(tf.ones([3])).numpy().tolist() == [2.0] * 3
    (process,) = tensorsleuth.open(recording.path).processes
    graph = process.events[process.events["kind"] == EventKind.GRAPH]
    assert [process.tensor(row["tensor"]).name for row in graph] == ["add"]  # type: ignore


VALUES = {
    "mixed": [1.0, -2.0, 0.0, -0.0, float("nan"), float("inf"), -float("inf"), 0.25],
    "large": [1e38, -3e38, 2e38],
    "near each other": [1000.0, 1000.25, 1000.5, float("nan")],
    "all bad": [float("nan"), float("inf")],
    "empty": [],
}


@pytest.mark.parametrize("mode", [Mode.FULL_NUMERICS])
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_a_summary_finds_what_the_kernel_finds(dtype: tf.DType, values: list[float], mode: Mode) -> None:
    tensor = tf.cast(tf.constant(values, tf.float64), dtype)
    number = dtype.as_datatype_enum
    counts, moments, dims = (
        output.numpy() for output in run_function(summary_function(number, mode), [tensor], 3, tensor.device)
    )
    found = measure_health(tensor.numpy(), number, mode)
    assert counts[4:].tolist() == [*found[:7]]
    assert moments[:2] == pytest.approx([found.min, found.max], rel=0, nan_ok=True)
    rounding = 1e-7 * max(abs(found.min), abs(found.max))
    assert moments[2:4] == pytest.approx([found.mean, found.std], rel=1e-5, abs=rounding, nan_ok=True)
    assert dims.tolist() == list(tensor.shape)
    if sum(found[1:4]):
        assert moments[4] == found.first_bad
