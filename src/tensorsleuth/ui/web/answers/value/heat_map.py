"""Pictures of a value: a heat map of two axes, a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.run.downsampling import json_numbers

MAX_CELLS = 128  # per side
HISTOGRAM_BARS = 48
MAX_SAMPLED_VALUES = 1 << 22  # of a larger tensor, a histogram samples at even intervals


def heat_map(value: Array) -> dict[str, Any] | None:
    """Return the means of blocks of a matrix, and for a block with a bad value its kind."""
    if value.dtype.kind not in "fiub" or not value.size:
        return None
    rows, columns = (np.linspace(0, size, min(size, MAX_CELLS) + 1).astype(np.int64)[:-1] for size in value.shape)
    known = np.isfinite(value)
    counts = _summed(known, rows, columns)
    with np.errstate(all="ignore"):
        cells = _summed(np.where(known, value, 0).astype(np.float64), rows, columns) / counts
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    said = {"rows": len(rows), "columns": len(columns), "cells": json_numbers(cells.ravel()), "low": low, "high": high}
    return said | {"bad": _kinds(value, rows, columns)}


def _summed(value: Array, rows: Array, columns: Array) -> Array:
    return np.asarray(np.add.reduceat(np.add.reduceat(value, rows, 0, np.float64), columns, 1, np.float64))


def _kinds(value: Array, rows: Array, columns: Array) -> str:
    """Return a letter for each cell: n for a NaN, + and - for an infinity, a dot for neither."""
    letters = np.full((len(rows), len(columns)), ".")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        for letter, found in (("-", value == -np.inf), ("+", value == np.inf), ("n", np.isnan(value))):
            letters[_summed(found, rows, columns) > 0] = letter
    return "".join(letters.ravel())


def histogram(value: Array) -> dict[str, Any] | None:
    """Return the number of finite values in each bin."""
    if value.dtype.kind not in "fiub":
        return None
    flat = value.reshape(-1)[:: -(-value.size // MAX_SAMPLED_VALUES) or 1]
    finite = flat[np.isfinite(flat)].astype(np.float64)
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    whole = value.dtype.kind != "f" and high - low < HISTOGRAM_BARS
    edges = np.arange(low, high + 2) - 0.5 if whole else _edges(low, high)
    return {"edges": edges.tolist(), "counts": np.histogram(finite, edges)[0].tolist()}


def _edges(low: float, high: float) -> Array:
    """Return the edges of bars of equal width. A single number gets its own bar."""
    if not np.isfinite(high - low):
        return np.linspace(low / 2, high / 2, HISTOGRAM_BARS + 1) * 2
    width = (high - low) or max(abs(low), 1.0) * 1e-6
    return np.linspace(low, low + width, (HISTOGRAM_BARS if high > low else 1) + 1)
