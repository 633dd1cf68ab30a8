"""Finds the values of many keys at once in two sorted columns. A dictionary of a million calls would take 100 MB."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array


class KeyLookup:
    """Returns the value of each key, or -1 if there is none. If a key occurs twice, the last value counts."""

    def __init__(self, keys: Array, values: Array) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys, self.values = keys[order], values[order]

    def __call__(self, asked: Array) -> Array:
        """Return the values. Rows of one call are adjacent, so each run of equal keys is searched once."""
        if not len(self._keys) or not len(asked):
            return np.full(len(asked), -1, np.int64)
        first = np.flatnonzero(np.concatenate([[True], asked[1:] != asked[:-1]]))
        if len(first) > len(asked) // 2:
            return self._search(asked)
        return np.repeat(self._search(asked[first]), np.diff(first, append=len(asked)))

    def _search(self, asked: Array) -> Array:
        at = np.searchsorted(self._keys, asked, "right") - 1
        return np.where((at >= 0) & (self._keys[at] == asked), self.values[at], -1)
