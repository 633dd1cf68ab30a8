"""The type of NumPy arrays in signatures: rows, columns, values."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
