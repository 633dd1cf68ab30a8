"""Writes a file of fixed-width rows. It is the Python twin of native/src/files/ring.cc, for use without that library.

File and bounds are the same: rows live in chunks, space is allocated before it is mapped, and at the bound the
oldest chunk that is not pinned is used again. It is slower, because one lock covers every row.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.ring_header import HEADER, MAGIC
from tensorsleuth.trace.storage.memory_folder import DESCRIPTOR_PREFIX
from tensorsleuth.trace.storage.ring_reader import PINNED
from tensorsleuth.trace.storage.size_plan import RingPlan

EXTENT_BYTES = 8 << 20  # how far ahead the file is allocated
TABLE_OFFSET = 4096  # where the table of chunks begins
_HEAD, _CHUNKS, _DROPPED, _ALARM, _TROUBLE, _CLOSED = range(6)  # the header's last words, from byte 48 on

RowMaker = Callable[[int], tuple[Any, ...]]


class RingWriter:
    """Appends rows to a new file. Any thread may call it."""

    def __init__(
        self,
        path: Path,
        dtype: np.dtype[Any],
        plan: RingPlan,
        say: Callable[[str], None],
        keep_all: bool = False,
    ) -> None:
        self._path, self._dtype, self._plan, self._say = path, dtype, plan, say
        self._keep_all = keep_all  # at the bound, drop the newest rows instead of the oldest
        self._max_chunks = plan.chunks
        self._chunk_bytes = plan.row_size * plan.chunk_rows
        self._offset = -(-(TABLE_OFFSET + 8 * plan.chunks) // 4096) * 4096
        self._lock = threading.RLock()
        self._extents: list[Array] = []  # allocated and mapped parts, as chunks of rows
        self._current = (
            -1,
            np.empty(0, dtype),
        )  # the current chunk: its logical number, its rows
        self._next_victim = 0
        self._alarms: dict[int, int] = {}  # by kind: the first row that raised it
        in_memory = str(path).startswith(DESCRIPTOR_PREFIX)
        if not in_memory and path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        # The file gets its name once its header is complete: a reader may open the run at any time.
        temporary = path if in_memory else path.with_name(path.name + ".new")
        new = 0 if in_memory else os.O_CREAT | os.O_EXCL
        self._file = os.open(temporary, os.O_RDWR | os.O_CLOEXEC | new, 0o644)
        self._write_header(temporary)
        if not in_memory:
            temporary.rename(path)

    def _write_header(self, path: Path) -> None:
        try:
            head = self._map(0, self._offset)
        except OSError:
            self.abandon()
            path.unlink()
            raise
        plan, epoch = self._plan, time.time_ns() - time.monotonic_ns()
        fields = (1, plan.row_size, plan.chunk_rows, os.getpid(), self._offset, plan.chunks, epoch)
        self._words = np.frombuffer(head, "<u8", 6, HEADER.size - 48)
        self._table = np.frombuffer(head, "<u8", plan.chunks, TABLE_OFFSET)
        HEADER.pack_into(head, 0, MAGIC, *fields, *[0] * 6)

    def _map(self, offset: int, size: int) -> mmap.mmap:
        os.posix_fallocate(self._file, offset, size)
        return mmap.mmap(self._file, size, offset=offset)

    @property
    def head(self) -> int:
        """The number of rows claimed so far."""
        return int(self._words[_HEAD])

    @property
    def alarm(self) -> int:
        """The first row that raised the alarm, plus 1; 0 if none did."""
        return int(self._words[_ALARM])

    def append(self, row_maker: RowMaker) -> int | None:
        """Write the row that `row_maker` makes for its number. Return the number, or None if there was no room.

        A row's `kind` is written last: a row without it was never finished.
        """
        with self._lock:
            if self._file < 0:
                return None
            number = self.head
            self._words[_HEAD] = number + 1
            rows = self._rows_for(number // self._plan.chunk_rows)
            if rows is None:
                self._words[_DROPPED] += 1
                return None
            self._finish(rows[number % self._plan.chunk_rows :][:1], row_maker(number))
            return number

    def _finish(self, place: Array, values: tuple[Any, ...]) -> None:
        row = np.array([values], self._dtype)
        kind = row["kind"].copy()
        row["kind"] = 0
        place[:] = row
        place["kind"] = kind

    def raise_alarm(self, number: int, kind: int) -> None:
        """Pin the rows around the first row that raises an alarm of a kind."""
        with self._lock:
            if self._file < 0 or kind in self._alarms or (self._alarms and not self._has_room_for_all):
                return
            self._alarms[kind] = number
            self._words[_ALARM] = self.alarm or number + 1
            for chunk in range(int(self._words[_CHUNKS])):
                entry = int(self._table[chunk])
                if entry and self._is_pinned((entry & ~PINNED) - 1):
                    self._table[chunk] = entry | PINNED

    @property
    def _has_room_for_all(self) -> bool:
        return self._plan.chunks > self._plan.most_pinned

    def _is_pinned(self, logical: int) -> bool:
        centres = (number // self._plan.chunk_rows for number in self._alarms.values())
        return any(abs(logical - centre) <= self._plan.window for centre in centres)

    def _rows_for(self, logical: int) -> Array | None:
        if self._current[0] == logical:
            return self._current[1]
        chunk = self._take_chunk()
        if chunk is None:
            return None
        self._current = logical, self._rows_of(chunk)
        self._table[chunk] = (logical + 1) | (PINNED if self._is_pinned(logical) else 0)
        return self._current[1]

    def _take_chunk(self) -> int | None:
        have = int(self._words[_CHUNKS])
        if have < self._max_chunks and self._may_grow(have) and (have < self._allocated or self._grow()):
            self._words[_CHUNKS] = have + 1
            return have
        return None if self._keep_all else self._take_oldest(have)

    def _may_grow(self, have: int) -> bool:
        """Return whether another chunk may be added. Some chunks are reserved for alarms."""
        if self._keep_all or not self._has_room_for_all:
            return True
        pinned = int(np.count_nonzero(self._table[:have] & np.uint64(PINNED)))
        return have - pinned < self._plan.chunks - self._plan.most_pinned

    def _take_oldest(self, have: int) -> int | None:
        for _ in range(have):
            chunk = self._next_victim % have
            self._next_victim += 1
            if not int(self._table[chunk]) & PINNED:
                self._table[chunk] = 0  # a process that dies in the next line leaves no chunk half cleared
                self._rows_of(chunk)[:] = np.zeros((), self._dtype)
                return chunk
        return None

    @property
    def _allocated(self) -> int:
        return sum(len(extent) for extent in self._extents)

    def _grow(self) -> bool:
        first = self._allocated
        count = min(max(1, min(EXTENT_BYTES // self._chunk_bytes, first)), self._max_chunks - first)
        try:
            data = self._map(self._offset + first * self._chunk_bytes, count * self._chunk_bytes)
        except OSError as error:
            self._max_chunks = first
            self._stop_growing(error)
            return False
        self._extents.append(np.frombuffer(data, self._dtype).reshape(count, self._plan.chunk_rows))
        return True

    def _stop_growing(self, error: OSError) -> None:
        self._words[_TROUBLE] = error.errno or 0
        replaces = self._words[_CHUNKS] and not self._keep_all
        then = "the newest rows replace the oldest" if replaces else "no more rows are kept in it"
        self._say(f"{self._path} cannot grow ({error.strerror}); {then}, the program goes on.")

    def _rows_of(self, chunk: int) -> Array:
        for extent in self._extents:
            if chunk < len(extent):
                rows: Array = extent[chunk]
                return rows
            chunk -= len(extent)
        raise IndexError(chunk)

    def close(self) -> None:
        """Close the file, and give back allocated space that was not used."""
        with self._lock:
            if self._file < 0:
                return
            self._words[_CLOSED] = 1
            os.ftruncate(self._file, self._offset + self._used_rows() * self._plan.row_size)
            self.abandon()

    def _used_rows(self) -> int:
        """Return the number of rows to keep. Unless the newest rows lie last, no space can be given back."""
        chunks, rows, head = int(self._words[_CHUNKS]), self._plan.chunk_rows, self.head
        if not chunks:
            return 0
        newest_last = int(self._table[chunks - 1]) & ~PINNED == -(-head // rows)
        return (chunks - 1) * rows + ((head - 1) % rows + 1 if newest_last else rows)

    def abandon(self) -> None:
        """Let go of the file as it is; also in a forked child, where it belongs to the parent."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self._extents = []
        self._current = (-1, np.empty(0, self._dtype))
