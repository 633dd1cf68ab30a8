"""What the native library keeps of attention weights is what NumPy computes; every layout, dtype and size."""

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

from tensorsleuth import native
from tensorsleuth.core.errors import TraceError
from tensorsleuth.native.loader import TensorView
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, AttentionSample, read_sample

EXACT = 8e-6  # weights are kept in 16 bits
SOURCES = Path(native.__file__).parent / "src"
Array = Any


@cache
def library() -> Any:
    """The kernel alone: no TensorFlow."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    target = Path(tempfile.mkdtemp(prefix="sleuth-attention-")) / "attention.so"
    flags = ["-O3", "-fPIC", "-std=c++17", "-shared", "-fvisibility=hidden", f"-I{SOURCES}"]
    subprocess.run([compiler, *flags, SOURCES / "kernels/attention.cc", "-o", target], check=True)
    made = ctypes.CDLL(str(target))
    made.sleuth_attention.restype = ctypes.c_uint64
    return made


def raw(weights: Array, dtype: int = 1, row_axis: int = -1) -> bytes:
    array = np.ascontiguousarray(weights)
    view = TensorView(array.ctypes.data, array.size, array.nbytes, dtype, array.ndim)
    view.dims[: array.ndim] = array.shape
    room = ctypes.create_string_buffer(16 << 20)
    size = library().sleuth_attention(ctypes.byref(view), row_axis, room, ctypes.c_uint64(len(room)))
    return bytes(room.raw[:size])


def weights_of(*shape: int, seed: int = 1) -> Array:
    powers = np.exp(np.random.default_rng(seed).normal(size=shape) * 2)
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def by_numpy(weights: Array) -> dict[str, Array]:
    """Of [batch, heads, rows, columns], of which rows that are not finite, or zero, are left out."""
    w = np.asarray(weights, np.float64)
    rows, columns = w.shape[2:]
    i, j = np.indices((rows, columns))
    nan, zero = ~np.isfinite(w).all(-1), (w == 0).all(-1)
    good = (~nan & ~zero)[..., None]
    w = np.where(good, w, 0.0)
    count = good.sum((0, 2, 3))
    mean = lambda per_row: per_row.sum((0, 2)) / count  # noqa: E731
    square = rows == columns
    return {
        "entropy": mean(-(w * np.log(np.where(w > 0, w, 1))).sum(-1)) / np.log(columns),
        "distance": mean((w * abs(i - j)).sum(-1)) if square else np.full(w.shape[1], np.nan),
        "sink": mean(w[..., 0]),
        "collapse": (w.sum((0, 2)) / count[:, None]).max(-1),
        "off_sum": np.where(good[..., 0], abs(w.sum(-1) - 1), 0).max((0, 2)),
        "ahead": mean((w * (j > i)).sum(-1)) if square else np.full(w.shape[1], np.nan),
        "nan_rows": nan.sum((0, 2)),
        "zero_rows": zero.sum((0, 2)),
    }


def agrees(kept: AttentionSample, weights: Array) -> None:
    expected = by_numpy(weights)
    assert tuple(kept.statistics) == HEAD_STATISTICS == tuple(expected)
    for name, numbers in expected.items():
        np.testing.assert_allclose(kept.statistics[name], numbers, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("shape", "axis"), [((3, 7), -1), ((3, 7), -2), ((3, 4, 7), -2)])
def test_one_query_that_has_no_axis(shape: tuple[int, ...], axis: int) -> None:
    weights = weights_of(*shape)
    whole = weights.reshape(shape[0], -1, 1, shape[-1])
    kept = read_sample(raw(weights, row_axis=axis))
    agrees(kept, whole)
    assert (kept.heads, kept.rows, kept.columns) == whole.shape[1:]
    np.testing.assert_allclose(kept.weights, whole[:2], rtol=0, atol=EXACT)


@pytest.mark.parametrize("shape", [(3, 4, 7, 7), (1, 1, 5, 9), (2, 40, 3, 6), (5, 2, 1, 2)])
def test_numbers_and_weights(shape: tuple[int, ...]) -> None:
    weights = weights_of(*shape)
    kept = read_sample(raw(weights))
    agrees(kept, weights)
    assert (kept.heads, kept.rows, kept.columns, kept.batch, kept.scale) == (shape[1], *shape[2:], shape[0], (1, 1))
    np.testing.assert_allclose(kept.weights, weights[:2, :32], rtol=0, atol=EXACT)


@pytest.mark.parametrize(("order", "row_axis"), [((0, 2, 1, 3), 1), ((1, 0, 2, 3), 2), ((2, 0, 1, 3), 0)])
def test_other_orders_of_the_axes(order: tuple[int, ...], row_axis: int) -> None:
    """Of what is left without the rows, the first axis is taken for the batch."""
    weights = weights_of(3, 4, 5, 6)
    swapped = order.index(1) < order.index(0)
    agrees(
        read_sample(raw(weights.transpose(order), row_axis=row_axis)), weights.swapaxes(0, 1) if swapped else weights
    )


def test_ranks_of_three_and_five() -> None:
    one = weights_of(3, 5, 5)
    agrees(read_sample(raw(one)), one[:, None])
    grouped = weights_of(2, 2, 3, 4, 4)
    agrees(read_sample(raw(grouped)), grouped.reshape(2, 6, 4, 4))


@pytest.mark.parametrize(("dtype", "kind"), [(2, np.float64), (19, np.float16)])
def test_other_floats(dtype: int, kind: Any) -> None:
    weights = weights_of(2, 2, 6, 6).astype(kind)
    agrees(read_sample(raw(weights, dtype)), weights.astype(np.float32))


def test_brain_floats() -> None:
    weights = weights_of(2, 2, 6, 6)
    short = (weights.view(np.uint32) >> 16).astype(np.uint16)
    agrees(read_sample(raw(short, 14)), (short.astype(np.uint32) << 16).view(np.float32))


def test_rows_that_are_bad_are_counted_and_left_out() -> None:
    weights = weights_of(2, 3, 4, 4)
    weights[0, 1, 2] = np.nan
    weights[1, 1, 0, 3] = np.inf
    weights[1, 2, 3] = 0
    weights[:, 0] = 0
    kept = read_sample(raw(weights))
    assert kept.statistics["nan_rows"].tolist() == [0, 2, 0] and kept.statistics["zero_rows"].tolist() == [8, 0, 1]
    assert np.isnan([kept.statistics[name][0] for name in HEAD_STATISTICS[:6]]).all()
    assert np.isnan(kept.weights[0, 1, 2]).all() and not np.isnan(kept.weights[0, 2]).any()
    agrees(read_sample(raw(weights[:, 1:])), weights[:, 1:])


def test_next_to_nothing_is_not_zero() -> None:
    weights = np.array([0, 1e-30, 1e-7, 1e-5, 0.25, 1], np.float32).reshape(1, 1, 2, 3)
    kept = read_sample(raw(weights)).weights
    np.testing.assert_allclose(kept, weights, rtol=0, atol=EXACT)
    assert ((kept == 0) == (weights == 0)).all() and kept.max() == 1


def test_large_ones_are_made_smaller_and_rows_still_sum_to_one() -> None:
    weights = weights_of(3, 2, 600, 1000)
    kept = read_sample(raw(weights))
    agrees(kept, weights)
    assert kept.scale == (3, 4) and kept.weights.shape == (2, 2, 200, 250)
    np.testing.assert_allclose(kept.weights.sum(-1), 1, atol=EXACT * kept.weights.shape[-1])
    blocks = weights[:2].reshape(2, 2, 200, 3, 250, 4).mean(3).sum(-1)
    np.testing.assert_allclose(kept.weights, blocks, rtol=0, atol=EXACT)


def test_a_last_block_that_is_not_full() -> None:
    weights = weights_of(1, 1, 257, 300)
    kept = read_sample(raw(weights))
    assert kept.weights.shape == (1, 1, 129, 150)
    np.testing.assert_allclose(kept.weights[0, 0, -1], weights[0, 0, -1].reshape(150, 2).sum(-1), rtol=0, atol=EXACT)
    np.testing.assert_allclose(kept.weights.sum(-1), 1, atol=EXACT * kept.weights.shape[-1])


def test_many_heads_stay_within_the_bound() -> None:
    assert len(raw(weights_of(2, 64, 256, 256))) < (4 << 20) + 64 * 8 * 64 + 64


@pytest.mark.parametrize("shape", [(4,), (0, 2, 3, 3), (1, 2000, 2, 2)])
def test_what_is_no_attention_keeps_nothing(shape: tuple[int, ...]) -> None:
    assert raw(np.zeros(shape, np.float32)) == b""


@pytest.mark.parametrize("size", [0, 10, 47, 60, 200])
def test_what_was_cut_off_is_said(size: int) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_sample(raw(weights_of(2, 2, 4, 4))[:size])
