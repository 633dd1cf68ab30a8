"""The catalogue on disk: an append-only file of framed records, each a small JSON text, deflated.

    | b"SLJ1" | uint32 size | uint32 crc32 | deflated JSON |

Every record is one `write`, so a killed process leaves at most one torn record, at the end. A reader skips a damaged
record by searching for the next mark. No locks: any number of readers, also while it grows, on any file system.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORD_MARK = b"SLJ1"
HEADER = struct.Struct("<4sII")
# How many bytes of memory a reader spends on a record, and on all of them. A hostile file may ask for any amount.
MAX_RECORD_BYTES = 128 << 20
MAX_MEMORY_BYTES = 256 << 20
MAX_INFLATION = 200  # the most that a byte on disk may inflate to; ours stay under 50
# The size of JSON in memory: roughly the bytes that each of these characters costs.
MEMORY_PER_SIGN = {b"[": 64, b"{": 96, b",": 24, b'"': 30}

Record = tuple[str, dict[str, Any]]


class Journal:
    """Appends records to a file, up to `bound` bytes."""

    def __init__(self, path: Path, bound: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._bytes_left = bound

    def append(self, kind: str, fields: dict[str, Any]) -> bool:
        """Write one record; return False once the bound is reached."""
        text = json.dumps([kind, fields], separators=(",", ":"), default=str).encode()
        body = zlib.compress(text, 1)
        frame = HEADER.pack(RECORD_MARK, len(body), zlib.crc32(body)) + body
        if len(frame) > self._bytes_left:
            return False
        self._bytes_left -= len(frame)
        if os.write(self._file, frame) < len(frame):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return True

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True)
class Damage:
    """The bytes of a journal that could not be read, and why."""

    bytes: int
    torn_end: bool = False  # the process was killed while it wrote
    too_large: bool = False  # more than a reader accepts


def read_records(data: bytes | mmap.mmap) -> Iterator[Record | Damage]:
    """Yield the records of a journal, in order. Damaged parts are counted and skipped."""
    at, reader = 0, _JournalReader(data)
    while at < len(data):
        found, after = reader.record_at(at)
        yield found
        at = after


class _JournalReader:
    """Reads records until it has used up its limit on memory or on wrong checksums."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data
        self._memory_left = MAX_MEMORY_BYTES
        self._checksum_budget = 8 * len(data) + (1 << 20)

    def record_at(self, at: int) -> tuple[Record | Damage, int]:
        """Return the record at a position, and the position where the next may begin."""
        size = len(self._data)
        if self._memory_left <= 0 or self._checksum_budget <= 0:
            return Damage(size - at, too_large=True), size
        body_at = at + HEADER.size
        if body_at > size:
            return Damage(size - at, torn_end=RECORD_MARK.startswith(self._data[at : at + len(RECORD_MARK)])), size
        mark, length, crc = HEADER.unpack(self._data[at:body_at])
        end = body_at + length
        if mark == RECORD_MARK and end <= size and length <= MAX_RECORD_BYTES:
            body = self._data[body_at:end]
            if zlib.crc32(body) == crc:
                return self._parse(body), end
            self._checksum_budget -= length
        after = _next_mark(self._data, at + 1)
        return Damage(after - at, torn_end=mark == RECORD_MARK and after == size < end), after

    def _parse(self, body: bytes) -> Record | Damage:
        """Return the record of an intact frame, which may still be invalid in a hostile or foreign file."""
        try:
            inflater = zlib.decompressobj()
            text = inflater.decompress(body, min(MAX_RECORD_BYTES, MAX_INFLATION * len(body) + (1 << 20)))
            weight = len(text) + sum(text.count(sign) * cost for sign, cost in MEMORY_PER_SIGN.items())
            self._memory_left -= weight
            if inflater.unconsumed_tail or weight > MAX_RECORD_BYTES:
                return Damage(len(body), too_large=True)
            kind, fields = json.loads(text)
        except (ValueError, TypeError, zlib.error, RecursionError):
            return Damage(len(body))
        return (kind, fields) if isinstance(kind, str) and isinstance(fields, dict) else Damage(len(body))


def _next_mark(data: bytes | mmap.mmap, start: int) -> int:
    found = data.find(RECORD_MARK, start)
    return len(data) if found < 0 else found
