"""Converts the bytes of a kept value to an array."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.trace.storage.files import open_regular

BFLOAT16 = 14


def read_bytes(path: Path, offset: int, size: int) -> bytes:
    """Return `size` bytes of a file, or fewer at its end."""
    with open_regular(path) as file:
        there = os.fstat(file.fileno()).st_size - offset
        return os.pread(file.fileno(), min(size, there), offset) if there > 0 else b""


def decode(data: bytes, dtype: int, shape: tuple[int, ...]) -> Array | None:
    """Return the value: bfloat16 as float32, float8 as its bits, None if the bytes do not fit the shape."""
    known = dtype_of(dtype)
    if known.kind is DTypeKind.OTHER or not data or len(data) != known.itemsize * math.prod(shape):
        return None
    if dtype == BFLOAT16:
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    name = "uint8" if known.name.startswith("float8") else known.name.removeprefix("q")
    return np.frombuffer(data, name).reshape(shape)
