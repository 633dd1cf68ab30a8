"""The allocation that failed, from the error message."""

from __future__ import annotations

import math
import re

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.diagnose.health_words import in_bytes

_TENSORFLOW = re.compile(r"allocating tensor with shape ?\[([\d,]*)\] and type (\w+)")
_NUMPY = re.compile(r"array with shape \(([\d, ]*)\) and data type (\w+)")
_CPP = {"float": "float32", "double": "float64", "half": "float16"}
_SIZES = {dtype.name: dtype.itemsize for dtype in DTYPES.values()}


def wanted(message: str) -> str | None:
    """`float32 [8192, 8192] (268 MB)`; None where the message does not say."""
    found = _asked_for(message)
    if found is None:
        return None
    dtype, shape = found
    size = wanted_bytes(message)
    return f"{dtype} {shape}" + (f" ({in_bytes(size)})" if size else "")


def wanted_bytes(message: str) -> int:
    """The size of it, 0 where it is not known."""
    dtype, shape = _asked_for(message) or ("", [])
    return math.prod(shape) * _SIZES.get(dtype, 0)


def _asked_for(message: str) -> tuple[str, list[int]] | None:
    found = _TENSORFLOW.search(message) or _NUMPY.search(message)
    if found is None:
        return None
    return _CPP.get(found.group(2), found.group(2)), [int(length) for length in re.findall(r"\d+", found.group(1))]
