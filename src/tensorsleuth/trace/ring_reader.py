"""Reads a file of fixed-width rows (see native/src/ring.h), also while it is being written, and when it is damaged."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.model.errors import TraceError

HEADER = struct.Struct("<8sIIIIQQqQQQQQQ")
MAGIC = b"SLEUTHRG"
PINNED = 1 << 63
_TAIL = 8192  # rows at the end that a killed process may have left unfinished

Array = npt.NDArray[Any]


class RingFile:
    """The rows of one file, oldest first."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path = path
        self.dtype = dtype
        size, header, table = _read_head(path, dtype)
        (_, _, _, self._chunk_rows, self.pid, self._offset, _, self.epoch, self.claimed, chunks, *rest) = header
        self.dropped, self.alarm, self.trouble, self.closed = rest
        self._stored = min((size - self._offset) // dtype.itemsize, chunks * self._chunk_rows)
        self._order = self._chunk_order(table[:chunks])

    def _chunk_order(self, table: Array) -> list[tuple[int, int]]:
        """(logical, physical) numbers of the chunks that hold rows, oldest first."""
        held = [(int(entry & ~np.uint64(PINNED)) - 1, chunk) for chunk, entry in enumerate(table) if entry]
        return sorted(held)

    def __len__(self) -> int:
        return sum(rows for _, rows in self._spans())

    @property
    def lost(self) -> int:
        """Rows that were written over, or never written."""
        return max(0, self.claimed - len(self))

    def _spans(self) -> Iterator[tuple[int, int]]:
        """(first row in the file, number of rows) of each chunk, oldest first."""
        for logical, chunk in self._order:
            start = chunk * self._chunk_rows
            written = min(self._chunk_rows, self.claimed - logical * self._chunk_rows, self._stored - start)
            if written > 0:
                yield start, written

    @property
    def array(self) -> Array:
        """All rows as one array: the file itself where nothing was written over, else a copy in order."""
        if not len(self):
            return np.empty(0, self.dtype)
        rows = np.memmap(self.path, self.dtype, "r", self._offset, (self._stored,))
        spans = list(self._spans())
        in_place = all(start == at * self._chunk_rows for at, (start, _) in enumerate(spans))
        whole = rows[: len(self)] if in_place else np.concatenate([rows[a : a + n] for a, n in spans])
        return _without_unfinished_tail(whole)

    def numbers(self) -> Array:
        """The number that each row of `array` was given when it was written."""
        parts = [
            np.arange(logical * self._chunk_rows, logical * self._chunk_rows + rows)
            for (logical, _), (_, rows) in zip(self._order, self._spans(), strict=False)
        ]
        return np.concatenate(parts)[: len(self.array)] if parts else np.empty(0, np.int64)

    def blocks(self) -> Iterator[Array]:
        """The rows a chunk at a time, read into memory and forgotten: what it takes does not grow with the file."""
        with open(self.path, "rb", buffering=0) as file:
            for start, rows in self._spans():
                data = os.pread(
                    file.fileno(), rows * self.dtype.itemsize, self._offset + start * self.dtype.itemsize
                )
                yield np.frombuffer(data, self.dtype, len(data) // self.dtype.itemsize)


def _without_unfinished_tail(rows: Array) -> Array:
    if "kind" not in (rows.dtype.names or ()):
        return rows
    unfinished = rows["kind"][-_TAIL:] == 0
    if not unfinished.any():
        return rows
    if unfinished[np.argmax(unfinished) :].all():
        return rows[: len(rows) - int(unfinished.sum())]
    return rows[np.concatenate([np.ones(len(rows) - len(unfinished), bool), ~unfinished])]


def _read_head(path: Path, dtype: np.dtype[Any]) -> tuple[int, tuple[Any, ...], Array]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            header = HEADER.unpack(file.read(HEADER.size))
            _check(path, size, header, dtype)
            file.seek(4096)
            table = np.frombuffer(file.read(8 * header[6]), "<u8")
    except (OSError, struct.error) as error:
        raise TraceError(f"{path} cannot be read as a trace: {error}.") from error
    return size, header, table


def _check(path: Path, size: int, header: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
    magic, version, row_size, chunk_rows, _, offset, max_chunks = header[:7]
    if magic != MAGIC:
        raise TraceError(f"{path} is not a trace of tensorsleuth: it starts with {magic!r}, not {MAGIC!r}.")
    if version != 1:
        raise TraceError(f"{path} has format {version}; this tensorsleuth reads format 1. Upgrade tensorsleuth.")
    if row_size != dtype.itemsize or not 0 < chunk_rows <= 1 << 20:
        raise TraceError(f"{path} is damaged: its rows are said to be {row_size} bytes, in chunks of {chunk_rows}.")
    if not 4096 + 8 * max_chunks <= offset <= size:
        raise TraceError(f"{path} is damaged: its rows are said to start at byte {offset:,} of {size:,}.")
