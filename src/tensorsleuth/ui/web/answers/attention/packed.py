"""Many numbers in little room: a picture of 256 by 256 cells would be a megabyte as JSON digits."""

from __future__ import annotations

import base64

import numpy as np

from tensorsleuth.core.array import Array


def floats(values: Array) -> str:
    """Return float32 numbers, little-endian, in base64. NaN stays NaN. web/src/api/inside.ts unpacks them."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode("ascii")


def shades(values: Array) -> str:
    """Return bytes in base64: 0 for 0 and for NaN or infinite, 255 for the largest value."""
    known = np.where(np.isfinite(values), values, 0)
    largest = float(known.max(initial=0.0)) or 1.0
    return base64.b64encode((known / largest * 255).round().astype(np.uint8).tobytes()).decode("ascii")


def shrink_weights(weights: Array, most: int) -> Array:
    """Return attention weights with at most `most` rows and columns: means of rows, sums of columns."""
    rows, columns = (np.linspace(0, size, min(size, most) + 1).astype(np.int64)[:-1] for size in weights.shape)
    if not weights.size:
        return weights
    summed = np.add.reduceat(weights, columns, axis=1)
    counts = np.diff(np.append(rows, len(weights)))
    return np.asarray(np.add.reduceat(summed, rows, axis=0) / counts[:, np.newaxis])
