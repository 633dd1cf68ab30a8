"""What was to be made when memory ran out, from the message of the error."""

from __future__ import annotations

import math
import re

from tensorsleuth.diagnose.words import in_bytes
from tensorsleuth.model.dtypes import DTYPES

_TENSORFLOW = re.compile(r"allocating tensor with shape ?\[([\d,]*)\] and type (\w+)")
_NUMPY = re.compile(r"array with shape \(([\d, ]*)\) and data type (\w+)")
_CPP = {"float": "float32", "double": "float64", "half": "float16"}
_SIZES = {dtype.name: dtype.itemsize for dtype in DTYPES.values()}


def wanted(message: str) -> str | None:
    """`float32 [8192, 8192] (268 MB)`; None where the message does not say."""
    found = _TENSORFLOW.search(message) or _NUMPY.search(message)
    if found is None:
        return None
    shape = [int(length) for length in re.findall(r"\d+", found.group(1))]
    dtype = _CPP.get(found.group(2), found.group(2))
    size = math.prod(shape) * _SIZES.get(dtype, 0)
    return f"{dtype} {shape}" + (f" ({in_bytes(size)})" if size else "")
