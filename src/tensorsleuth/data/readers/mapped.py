"""An array mapped from a file: nothing is copied, and the system decides how much stays in memory."""

from __future__ import annotations

import mmap
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array

POPULATE_READ = 22  # of madvise, from Linux 5.14 on: maps many pages at once; otherwise each would be a page fault

BLOCKS_KEPT_MAPPED = 4  # the newest blocks stay mapped


def _page(place: int) -> int:
    return place - place % mmap.PAGESIZE


class MappedArray:
    """Rows of an array in a file, in C order."""

    def __init__(self, path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> None:
        self.shape, self.dtype = shape, dtype
        self._offset = offset
        self._done = _page(offset)
        self._bytes_a_row = int(np.prod(shape[1:])) * dtype.itemsize
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count = int(np.prod(shape))
        if offset + count * dtype.itemsize > len(self._map):
            raise EOFError(f"it ends {offset + count * dtype.itemsize - len(self._map):,} bytes early")
        self._array = np.frombuffer(self._map, dtype, count, offset).reshape(shape)

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(self.shape[0])
        self._bring(self._offset + start * self._bytes_a_row, max(0, stop - start) * self._bytes_a_row)
        return self._array[rows]

    def _bring(self, start: int, size: int) -> None:
        first = _page(start)
        with suppress(OSError, ValueError):  # an older system maps the pages one by one
            self._map.madvise(POPULATE_READ, first, size + start - first)
        self._let_go(first, _page(start - BLOCKS_KEPT_MAPPED * size))

    def _let_go(self, first: int, until: int) -> None:
        """Release pages that were read a while ago; they come back if they are read again."""
        done = self._done if self._done <= first else _page(self._offset)
        if until > done:
            self._map.madvise(mmap.MADV_DONTNEED, done, until - done)
        self._done = max(done, until)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._array
