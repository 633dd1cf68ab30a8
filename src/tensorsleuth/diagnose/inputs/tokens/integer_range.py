"""The integers that a dtype holds, and the results for those that it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorsleuth.core.dtypes import DTypeKind, dtype_of

# How many binary digits of a number a float keeps, the first one included.
SIGNIFICANT_BITS = {
    "float64": 53, "float32": 24, "float16": 11, "bfloat16": 8,
    "float8_e4m3fn": 4, "float8_e4m3fnuz": 4, "float8_e4m3b11fnuz": 4, "float8_e5m2": 3, "float8_e5m2fnuz": 3,
}  # fmt: skip
Integers = NDArray[np.int64]


def last_exact_integer(dtype: int) -> int | None:
    """Return the largest number up to which a dtype holds every integer; None for dtypes that are not real numbers."""
    known = dtype_of(dtype)
    if known.kind is DTypeKind.FLOAT and known.name in SIGNIFICANT_BITS:
        return int(2 ** SIGNIFICANT_BITS[known.name])
    if known.kind in (DTypeKind.INT, DTypeKind.UINT):
        return int(2 ** (8 * known.itemsize - (known.kind is DTypeKind.INT)) - 1)
    return None


def cast_integers(dtype: int, numbers: NDArray[Any]) -> Integers:
    """Return the results of casting integers from 0 on: floats round to the nearest, integers wrap around."""
    known, whole = dtype_of(dtype), np.asarray(numbers).astype(np.int64)
    if known.kind is DTypeKind.FLOAT:
        return _rounded(whole, SIGNIFICANT_BITS[known.name])
    below = 2 ** (8 * known.itemsize - 1) if known.kind is DTypeKind.INT else 0
    span = 2 ** (8 * known.itemsize) if known.itemsize < 8 else 0
    return (whole + below) % span - below if span else whole


def _rounded(integers: Integers, digits: int) -> Integers:
    """Round to that many binary digits, ties to even."""
    apart = np.maximum(np.floor(np.log2(np.maximum(np.abs(integers), 1))).astype(np.int64) + 1 - digits, 0)
    step = np.int64(1) << apart
    return (np.round(integers / step) * step).astype(np.int64)
