"""The bins of a histogram, as native/src/kernels/measure.cc makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BINS = 64


def bin_edges(low: float, high: float) -> npt.NDArray[Any]:
    """Bin i holds what is at edge i or above, and below edge i + 1; the last holds the maximum, too."""
    step = high / BINS - low / BINS  # no range is too large for that
    numbers = np.arange(BINS + 1)
    ways = step * np.where(numbers < BINS // 2, numbers, BINS - numbers)
    return np.where(numbers < BINS // 2, low + ways, high - ways)
