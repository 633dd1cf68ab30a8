"""Many numbers in little room: a picture of 256 by 256 cells as JSON's digits is a megabyte."""

from __future__ import annotations

import base64

import numpy as np

from tensorsleuth.core.array import Array


def floats(values: Array) -> str:
    """As float32, little-endian, in base64: NaN stays NaN. `unpacked` in web/src/api/inside.ts reads it."""
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode("ascii")


def shades(values: Array) -> str:
    """As bytes in base64, 0 for 0 and 255 for the largest there is; what is not finite is 0."""
    known = np.where(np.isfinite(values), values, 0)
    largest = float(known.max(initial=0.0)) or 1.0
    return base64.b64encode((known / largest * 255).round().astype(np.uint8).tobytes()).decode("ascii")


def shrink_weights(weights: Array, most: int) -> Array:
    """Attention weights in at most so many rows and columns: means of rows, sums of columns, as recordings have it."""
    rows, columns = (np.linspace(0, size, min(size, most) + 1).astype(np.int64)[:-1] for size in weights.shape)
    if not weights.size:
        return weights
    summed = np.add.reduceat(weights, columns, axis=1)
    counts = np.diff(np.append(rows, len(weights)))
    return np.asarray(np.add.reduceat(summed, rows, axis=0) / counts[:, np.newaxis])
