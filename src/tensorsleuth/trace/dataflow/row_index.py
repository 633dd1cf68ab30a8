"""Finds rows of one call by tensor, loop frame and iteration, in sorted columns. Dictionaries take much more memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

import numpy as np

from tensorsleuth.core.array import Array

_ID_LIMIT = 1 << 32  # tensors and frames have 32 bits


class RowIndex:
    """Finds rows by tensor, loop frame and iteration, and returns their numbers."""

    def __init__(self, rows: Array) -> None:
        order = np.lexsort((rows["iteration"], rows["frame"], rows["tensor"]))
        keys = (rows["tensor"].astype(np.uint64) << np.uint64(32) | rows["frame"])[order]
        self._keys = array("Q", keys.tobytes())
        self._iterations = array("I", rows["iteration"][order].astype(np.uint32).tobytes())
        self._order = array("q", order.astype(np.int64).tobytes())

    def of_tensor(self, tensor: int) -> list[int]:
        """Return all rows of a tensor, in the order in which they were written."""
        if not 0 <= tensor < _ID_LIMIT:
            return []
        first = bisect_left(self._keys, tensor * _ID_LIMIT)
        return sorted(self._order[first : bisect_left(self._keys, (tensor + 1) * _ID_LIMIT, first)])

    def has_frame(self, tensor: int, frame: int) -> bool:
        """Return whether a tensor was computed in a loop frame."""
        first, last = self._span(tensor, frame)
        return first < last

    def row_at(self, tensor: int, frame: int, iteration: int) -> int | None:
        """Return the last row of a tensor in one iteration."""
        first, last = self._span(tensor, frame)
        at = bisect_right(self._iterations, iteration, first, last) - 1
        return self._order[at] if at >= first and self._iterations[at] == iteration else None

    def _span(self, tensor: int, frame: int) -> tuple[int, int]:
        key = tensor * _ID_LIMIT + frame
        first = bisect_left(self._keys, key)
        return first, bisect_right(self._keys, key, first)
