"""Measures of watched tensors in NumPy, the reference for `native/src/kernels/measure.h`."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.histogram_bins import BINS, bin_edges


def histogram(finite: Array) -> Array:
    """Return the number of values in each bin between the smallest and the largest."""
    values = finite.astype(np.float64)
    edges = bin_edges(float(values.min()), float(values.max()))
    found = np.searchsorted(edges[:BINS], values, side="right") - 1
    return np.bincount(found, minlength=BINS)
