"""The bins of a histogram, as native/src/kernels/measure.cc makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BINS = 64


def bin_edges(low: float, high: float) -> npt.NDArray[Any]:
    """Return the edges. Bin i covers edge i up to but not including edge i + 1; the last includes the maximum."""
    step = high / BINS - low / BINS  # does not overflow for any range
    numbers = np.arange(BINS + 1)
    ways = step * np.where(numbers < BINS // 2, numbers, BINS - numbers)
    return np.where(numbers < BINS // 2, low + ways, high - ways)
