"""Reads a file of fixed-width rows (native/src/files/ring.h), also while it grows, and if it is damaged."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import TraceError, TraceVersionError
from tensorsleuth.core.layout.ring_header import HEADER, MAGIC, RingHeader
from tensorsleuth.core.version import TRACE_FORMAT
from tensorsleuth.trace.storage.files import open_regular

PINNED = 1 << 63
_TAIL_ROWS = 8192  # rows at the end that a killed process may have left unfinished
_ROW_SIZES = range(8, 1025, 8)  # allowed sizes of a row in bytes, in any version
_CHUNK_SIZES = range(1, (1 << 20) + 1)  # allowed numbers of rows in a chunk
_MAX_CHUNKS = 1 << 20
_MAX_ROWS = 1 << 56  # more is not plausible
_MAX_NEW_CHUNKS = 8  # chunks that may have been added since the header was read
_LARGE_FILE_BYTES, _MAX_SPARSENESS = 1 << 30, 64  # of a file over so many bytes, at least a 64th must be on disk


def release_pages(rows: Array) -> None:
    """Let the system reclaim the memory of mapped rows. Pages that are needed again are read again."""
    base: Any = rows
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)


class _ChunkSpan(NamedTuple):
    """The rows of one chunk."""

    number: int  # of its first row, counted from the start of the recording
    start: int  # its first row in the file
    rows: int


class RingFile:
    """The rows of one file, oldest first. `damage` lists what was lost."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.path = path
        self.dtype = dtype
        self.damage: list[str] = []
        self._size, self._header, table = _read_head(path, dtype)
        self.pid, self.epoch, self.alarm = self._header.pid, self._header.epoch, self._header.alarm
        self._stored_rows = (self._size - self._header.offset) // dtype.itemsize
        order = self._chunk_order(table)
        self.claimed = self._believable_claim(order)
        self._spans = list(self._stored_spans(order))
        self._length = sum(span.rows for span in self._spans)
        self._report_losses()

    def _chunk_order(self, table: Array) -> list[tuple[int, int]]:
        """Return the (logical, physical) numbers of the chunks that hold rows, oldest first."""
        entries = (int(entry) & ~PINNED for entry in table.tolist())
        held = {entry - 1: chunk for chunk, entry in enumerate(entries) if entry}
        twice = int(np.count_nonzero(table)) - len(held)
        furthest = self._header.claimed // self._header.chunk_rows + _MAX_NEW_CHUNKS
        order = sorted(item for item in held.items() if item[0] <= furthest)
        if twice or len(order) < len(held):
            self.damage.append(f"{self.path.name} has {twice + len(held) - len(order):,} invalid chunks")
        return order

    def _believable_claim(self, order: list[tuple[int, int]]) -> int:
        if self._header.claimed <= _MAX_ROWS:
            return self._header.claimed
        self.damage.append(f"{self.path.name} does not say how many rows it has")
        return (order[-1][0] + 1) * self._header.chunk_rows if order else 0

    def _stored_spans(self, order: list[tuple[int, int]]) -> Iterator[_ChunkSpan]:
        chunk_rows, missing = self._header.chunk_rows, 0
        for logical, chunk in order:
            number, start = logical * chunk_rows, chunk * chunk_rows
            written = max(0, min(chunk_rows, self.claimed - number))
            stored = max(0, min(written, self._stored_rows - start))
            missing += written - stored
            if stored:
                yield _ChunkSpan(number, start, stored)
        if missing:
            self.damage.append(f"{self.path.name} is cut short: {missing:,} rows are missing")

    def _report_losses(self) -> None:
        header, name = self._header, self.path.name
        if header.chunks > header.max_chunks:
            self.damage.append(f"{name} says it has {header.chunks:,} chunks, of at most {header.max_chunks:,}")
        elif header.closed and not self.damage and not self._has_expected_length():
            self.damage.append(f"{name} is not as long as its header says: rows may be missing")
        if header.trouble:
            reason = os.strerror(header.trouble) if header.trouble < 4096 else "for an unknown reason"
            self.damage.append(f"{name} could not grow while recording ({reason}): {self.lost_rows:,} rows are lost")
        elif header.dropped and self.lost_rows <= header.dropped:  # else they would have been written over
            self.damage.append(f"{header.dropped:,} rows of {name} could not be written while recording")

    def _has_expected_length(self) -> bool:
        """Return whether a closed file ends at its newest row or its last chunk."""
        ends = max((span.start + span.rows for span in self._spans), default=0)
        return self._stored_rows in (ends, self._header.chunks * self._header.chunk_rows)

    def __len__(self) -> int:
        return self._length

    @property
    def lost_rows(self) -> int:
        """The number of rows that were overwritten, or never written."""
        return max(0, self.claimed - len(self))

    def gap_times(self) -> list[int]:
        """Return the time of each row that follows overwritten rows."""
        before = [0, *(span.number + span.rows for span in self._spans)]
        places = np.cumsum([0, *(span.rows for span in self._spans)])
        after = [at for at, span, number in zip(places.tolist(), self._spans, before) if span.number > number]
        return [int(time) for time in self._whole()["time"][after] if time] if after else []

    @property
    def array(self) -> Array:
        """Return all rows as one array: the mapped file if nothing was overwritten, else a copy in order."""
        whole = np.asarray(self._whole())  # a memmap would create each row as a Python object
        return whole[_finished_rows(whole)]

    def numbers(self) -> Array:
        """Return the number that each row of `array` got when it was written."""
        if not self._spans:
            return np.empty(0, np.int64)
        numbers = np.concatenate([np.arange(span.number, span.number + span.rows) for span in self._spans])
        return numbers[_finished_rows(self._whole())]

    def blocks(self) -> Iterator[Array]:
        """Yield the rows chunk by chunk, so that memory use does not grow with the file."""
        size, offset = self.dtype.itemsize, self._header.offset
        try:
            with open_regular(self.path) as file:
                for span in self._spans:
                    data = os.pread(file.fileno(), span.rows * size, offset + span.start * size)
                    yield np.frombuffer(data[: len(data) // size * size], self.dtype)
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def _whole(self) -> Array:
        if not self._spans:
            return np.empty(0, self.dtype)
        try:
            rows = np.memmap(self.path, self.dtype, "r", self._header.offset, (self._stored_rows,))
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from error
        chunk_rows = self._header.chunk_rows
        if all(span.start == at * chunk_rows for at, span in enumerate(self._spans)):
            return rows[: len(self)]
        return np.concatenate([rows[span.start : span.start + span.rows] for span in self._spans])


def _finished_rows(rows: Array) -> slice | Array:
    """Return a selection of the finished rows: rows at the end may be unfinished."""
    tail = _TAIL_ROWS
    while tail < len(rows) and not rows["kind"][-tail:].any():
        tail *= 2
    finished = rows["kind"][-tail:] != 0
    count = int(finished.sum())
    if finished[:count].all():
        return slice(len(rows) - len(finished) + count)
    return np.concatenate([np.ones(len(rows) - len(finished), bool), finished])


def _read_head(path: Path, dtype: np.dtype[Any]) -> tuple[int, RingHeader, Array]:
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            header = RingHeader(*HEADER.unpack(file.read(HEADER.size)))
            _check(path, status, header, dtype)
            table = os.pread(file.fileno(), 8 * min(header.chunks, header.max_chunks), 4096)
    except struct.error as error:
        raise TraceError(f"{path} cannot be read: it is {status.st_size:,} bytes, too short for a trace.") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    return status.st_size, header, np.frombuffer(table, "<u8")


def _check(path: Path, status: os.stat_result, header: RingHeader, dtype: np.dtype[Any]) -> None:
    size, on_disk = status.st_size, status.st_blocks * 512
    if header.magic != MAGIC:
        raise TraceError(f"{path} is not a trace of tensorsleuth: it starts with {header.magic!r}, not {MAGIC!r}.")
    if header.version != TRACE_FORMAT:
        raise TraceVersionError(f"{path.name} has format {header.version}, not {TRACE_FORMAT}")
    if header.row_size != dtype.itemsize and header.row_size in _ROW_SIZES and header.chunk_rows in _CHUNK_SIZES:
        raise TraceVersionError(f"{path.name} has rows of {header.row_size} bytes, not {dtype.itemsize}")
    if header.row_size != dtype.itemsize or header.chunk_rows not in _CHUNK_SIZES:
        rows = f"{header.row_size} bytes, in chunks of {header.chunk_rows}"
        raise TraceError(f"{path} is damaged: its header says that its rows have {rows}.")
    if header.max_chunks > _MAX_CHUNKS or not 4096 + 8 * header.max_chunks <= header.offset <= size:
        raise TraceError(
            f"{path} is damaged: its header says that its rows start at byte {header.offset:,} of {size:,}."
        )
    if size > _LARGE_FILE_BYTES and on_disk < size // _MAX_SPARSENESS:
        raise TraceError(f"{path} is damaged: only {on_disk:,} of its {size:,} bytes are on disk.")


def _unreadable(path: Path, error: Exception) -> TraceError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TraceError(f"{path} cannot be read as a trace: {reason}.")
