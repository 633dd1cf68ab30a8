"""The allocation that failed, from the error message."""

from __future__ import annotations

import math
import re

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.diagnose.health_words import format_bytes

_TENSORFLOW_MESSAGE = re.compile(r"allocating tensor with shape ?\[([\d,]*)\] and type (\w+)")
_NUMPY_MESSAGE = re.compile(r"array with shape \(([\d, ]*)\) and data type (\w+)")
_CPP_DTYPES = {"float": "float32", "double": "float64", "half": "float16"}
_SIZES = {dtype.name: dtype.itemsize for dtype in DTYPES.values()}


def requested_tensor(message: str) -> str | None:
    """Return the tensor in the message, as `float32 [8192, 8192] (268 MB)`; None if there is none."""
    found = _parse_request(message)
    if found is None:
        return None
    dtype, shape = found
    size = requested_bytes(message)
    return f"{dtype} {shape}" + (f" ({format_bytes(size)})" if size else "")


def requested_bytes(message: str) -> int:
    """Return its size in bytes; 0 if unknown."""
    dtype, shape = _parse_request(message) or ("", [])
    return math.prod(shape) * _SIZES.get(dtype, 0)


def _parse_request(message: str) -> tuple[str, list[int]] | None:
    found = _TENSORFLOW_MESSAGE.search(message) or _NUMPY_MESSAGE.search(message)
    if found is None:
        return None
    return _CPP_DTYPES.get(found.group(2), found.group(2)), [
        int(length) for length in re.findall(r"\d+", found.group(1))
    ]
