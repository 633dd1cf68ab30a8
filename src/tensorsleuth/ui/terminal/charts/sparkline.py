"""A number over the steps, in a few letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[float], width: int) -> str:
    """Return bars from the smallest to the largest number, at most `width`, evenly chosen; a space if unknown."""
    many = len(numbers)
    chosen = [numbers[at * (many - 1) // (width - 1)] for at in range(width)] if many > width else list(numbers)
    known = [number for number in chosen if np.isfinite(number)]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    return "".join(_bar(number, low, high) for number in chosen)


def _bar(number: float, low: float, high: float) -> str:
    if not np.isfinite(number):
        return " "
    if high - low <= 1e-6 * max(abs(high), 1.0):
        return BARS[0]
    return BARS[min(int((number - low) / (high - low) * len(BARS)), len(BARS) - 1)]
