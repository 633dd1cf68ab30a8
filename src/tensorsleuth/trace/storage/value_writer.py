"""Keeps the full values of tensors within a bound. It is the Python twin of native/src/files/values.cc."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from tensorsleuth.core.layout.rows import VALUE
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.ring_writer import RingWriter
from tensorsleuth.trace.storage.size_plan import RingPlan


class ValueWriter:
    """Writes values to values.bin as a ring. An offset never repeats; modulo the bound, it is the place in the file."""

    def __init__(self, folder: Folder, bound: int, say: Callable[[str], None]) -> None:
        self._bound = bound
        self._end = 0
        self._frozen: int | None = None
        self._lock = threading.Lock()
        self._file = os.open(folder / "values.bin", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        plan = RingPlan(VALUE.itemsize, 1024, max(bound >> 22, 64))
        self._rows = RingWriter(folder / "value_rows.bin", VALUE, plan, say)

    def keep(self, event: int, data: memoryview) -> bool:
        """Write the value of an event's tensor; return False if it does not fit or the disk is full."""
        with self._lock:
            start = self._room_for(data.nbytes)
            if start is None or not self._write(data, start % self._bound):
                return False
            return self._rows.append(lambda _: (event, start, data.nbytes, 1)) is not None

    def _room_for(self, size: int) -> int | None:
        """Return the offset for a value, which must not straddle the end of the file."""
        if self._file < 0 or not 0 < size <= self._bound:
            return None
        over = self._end % self._bound + size > self._bound
        start = self._end + self._bound - self._end % self._bound if over else self._end
        if self._frozen is not None and start + size > self._frozen:
            return None
        self._end = start + size
        return start

    def _write(self, data: memoryview, place: int) -> bool:
        done = 0
        try:
            while done < data.nbytes:
                done += os.pwrite(self._file, data[done:], place + done)
        except OSError:
            return False  # the disk is full: the event stays without its value
        return True

    def freeze_soon(self) -> None:
        """Stop overwriting after another quarter of the bound, so that the values around the alarm stay."""
        self._frozen = max(self._end + self._bound // 4, self._bound)

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                self._rows.close()
                os.close(self._file)
                self._file = -1

    def abandon(self) -> None:
        if self._file >= 0:
            self._rows.abandon()
            os.close(self._file)
            self._file = -1
