"""The duration of each probe, from the rows: `look_bits` in native/src/files/rows.h encodes it."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import SAMPLE_TIME_CODES, SAMPLE_TIME_SHIFT


def _middle(code: int) -> int:
    """Return the middle of the durations with this code in nanoseconds, 0 for no duration."""
    exponent, quarter = code >> 2, code & 3
    return int((4.5 + quarter) * 2.0 ** (exponent - 2)) if exponent else 0


_NANOSECONDS = np.array([_middle(code) for code in range(SAMPLE_TIME_CODES)], np.int64)


def probe_durations(flags: Array) -> Array:
    """Return nanoseconds, from the flags of events."""
    times: Array = _NANOSECONDS[(flags >> SAMPLE_TIME_SHIFT) & (SAMPLE_TIME_CODES - 1)]
    return times
