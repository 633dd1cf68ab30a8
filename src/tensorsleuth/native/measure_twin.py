"""What a watched tensor is measured by, in NumPy: holds `native/src/measure.h` to its word."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.model.bins import BINS, bin_edges

Array = npt.NDArray[Any]


def histogram(finite: Array) -> Array:
    """How many of these values are in each bin between the smallest and the largest."""
    values = finite.astype(np.float64)
    edges = bin_edges(float(values.min()), float(values.max()))
    found = np.searchsorted(edges[:BINS], values, side="right") - 1
    return np.bincount(found, minlength=BINS)
