"""The native measures of a watched tensor are NumPy's."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.thorough import examples

from tensorsleuth import native
from tensorsleuth.core.layout.histogram_bins import BINS, bin_edges
from tensorsleuth.core.layout.rows import QUANTILES, WATCHED, MeasureFlag
from tensorsleuth.native.numpy_measure import histogram

ALL = MeasureFlag.NORM | MeasureFlag.HISTOGRAM | MeasureFlag.QUANTILES
NUMBERS = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 6: "i1", 9: "<i8", 10: "?", 19: "<f2", 22: "<u4"}


SOURCES = Path(native.__file__).parent / "src"
FLAGS = ["-O3", "-fPIC", "-std=c++17", "-shared", "-fvisibility=hidden", f"-I{SOURCES}"]


@cache
def library() -> Any:
    """The kernels alone: no TensorFlow."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    target = Path(tempfile.mkdtemp(prefix="sleuth-measure-")) / "measure.so"
    sources = [*sorted(SOURCES.glob("kernels/health*.cc")), SOURCES / "kernels/measure.cc"]
    subprocess.run([compiler, *FLAGS, *sources, "-o", target], check=True)
    return ctypes.CDLL(str(target))


def measured(values: Any, dtype: int, what: int = ALL) -> Any:
    row = np.zeros(1, WATCHED)
    values = np.ascontiguousarray(values)
    library().sleuth_measure(
        values.ctypes.data_as(ctypes.c_void_p),
        ctypes.c_uint64(values.size),
        dtype,
        int(what),
        row.ctypes.data_as(ctypes.c_void_p),
    )
    return row[0]


@settings(max_examples=examples(300), deadline=None)
@given(st.data(), st.sampled_from(sorted(NUMBERS)))
def test_bins_sums_and_quantiles_are_those_of_numpy(data: st.DataObject, dtype: int) -> None:
    kind = np.dtype(NUMBERS[dtype])
    values = data.draw(hnp.arrays(kind, st.integers(0, 50)))
    row = measured(values, dtype)
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    assert row["elements"] == values.size
    assert (row["nan"], row["pos_inf"]) == (np.isnan(wide).sum(), np.isposinf(wide).sum())
    if not finite.size:
        assert not row["bins"].any() and not row["norm"]
        return
    assert row["min"] == finite.min() and row["max"] == finite.max()
    assert row["bins"].tolist() == histogram(finite).tolist()
    assert row["bins"].sum() == finite.size
    scale = np.abs(finite).max() or 1.0
    norm = np.linalg.norm(finite / scale)
    if np.isfinite(float(scale) * float(norm)):  # else it is more than the largest double
        assert row["norm"] / scale == pytest.approx(norm, rel=1e-12)
    if np.abs(finite).max() < 1e300:
        assert row["sum"] == pytest.approx(finite.sum(), rel=1e-9, abs=1e-12 * np.abs(finite).sum())
        expected = np.quantile(finite, QUANTILES)
        assert row["quantiles"] == pytest.approx(expected, rel=1e-12, abs=1e-13 * scale)
    assert row["flags"] & MeasureFlag.EXACT


@settings(max_examples=examples(200), deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_edges_go_up_from_the_smallest_to_the_largest(one: float, other: float) -> None:
    low, high = sorted((one, other))
    edges = bin_edges(low, high)
    assert edges[0] == low and edges[-1] == high and len(edges) == BINS + 1
    assert (np.diff(edges / 4) >= 0).all()
    if 1e-300 < high - low < 1e300:
        assert edges == pytest.approx(np.linspace(low, high, BINS + 1), rel=1e-9, abs=1e-12 * (high - low))


def test_quantiles_of_many_come_from_the_histogram() -> None:
    values = np.random.default_rng(1).normal(size=200_000).astype(np.float32)
    row = measured(values, 1)
    assert not row["flags"] & MeasureFlag.EXACT
    width = (row["max"] - row["min"]) / BINS
    assert row["quantiles"] == pytest.approx(np.quantile(values, QUANTILES), abs=width)
    plain, _ = np.histogram(values.astype(np.float64), BINS, (row["min"], row["max"]))
    assert np.abs(row["bins"].astype(int) - plain).sum() <= 4  # NumPy rounds its edges slightly differently


def test_only_what_is_asked_for_is_made() -> None:
    row = measured(np.arange(10, dtype=np.float32), 1, MeasureFlag.NORM)
    assert not row["bins"].any() and not row["quantiles"].any()
    assert row["norm"] == pytest.approx(np.linalg.norm(np.arange(10)))


def test_bfloat16_and_complex() -> None:
    halves = np.array([1.0, -2.0, 3.5], np.float32)
    row = measured((halves.view(np.uint32) >> 16).astype(np.uint16), 14)
    assert (row["min"], row["max"], row["sum"]) == (-2.0, 3.5, 2.5)
    row = measured(np.array([3 + 4j, 0], np.complex64), 8)
    assert row["norm"] == 5 and row["max"] == 5
