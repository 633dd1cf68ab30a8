"""Rows of different lengths: their values in order, with the row and position of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Piece


def ragged_piece(values: Array, lengths: npt.NDArray[Any], start: int, dtype: str | None = None) -> Piece:
    """Return a piece of rows; `lengths` holds the number of values of each row."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    first = np.cumsum(lengths) - lengths
    places = np.stack([start + rows, np.arange(len(rows)) - first[rows]], axis=1)
    return Piece(values, values.shape, start, dtype, places)
