"""The catalogue on disk: an append-only file of framed records, each a small JSON text, deflated.

    | b"SLJ1" | uint32 size | uint32 crc32 | deflated JSON |

Every record is one `write`, so a killed process leaves at most one torn record, at the end. A damaged record is
stepped over by looking for the next mark. No locks: any number of readers, also while it grows, on any file system.
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

MARK = b"SLJ1"
HEADER = struct.Struct("<4sII")
# What a reader takes in, in bytes of memory: a record, and all of them. A hostile file would ask for any amount.
MAX_RECORD = 128 << 20
MAX_MEMORY = 256 << 20
# What JSON becomes in memory: roughly the bytes that each of these stands for.
WEIGHTS = {b"[": 64, b"{": 96, b",": 24, b'"': 30}

Record = tuple[str, dict[str, Any]]


class Journal:
    """Appends records to a file, up to `bound` bytes."""

    def __init__(self, path: Path, bound: int) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._room = bound

    def append(self, kind: str, fields: dict[str, Any]) -> bool:
        """Write one record; False where the bound is reached."""
        text = json.dumps([kind, fields], separators=(",", ":"), default=str).encode()
        body = zlib.compress(text, 1)
        frame = HEADER.pack(MARK, len(body), zlib.crc32(body)) + body
        if len(frame) > self._room:
            return False
        self._room -= len(frame)
        if os.write(self._file, frame) < len(frame):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return True

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True)
class Damage:
    """How much of a journal could not be read, and why."""

    bytes: int
    torn_end: bool = False  # the process was killed while it wrote
    too_large: bool = False  # more than a reader takes in


def read(data: bytes | mmap.mmap) -> Iterator[Record | Damage]:
    """The records of a journal, in order; what is damaged is counted and stepped over."""
    at, reader = 0, _Reader(data)
    while at < len(data):
        if reader.exhausted:
            yield Damage(len(data) - at, too_large=True)
            return
        record, after = reader.record_at(at)
        if isinstance(record, Damage) and not record.too_large and not record.torn_end:
            after = _next_mark(data, at + 1)
            record = Damage(after - at)
        yield record
        at = after


def _next_mark(data: bytes | mmap.mmap, start: int) -> int:
    found = data.find(MARK, start)
    return len(data) if found < 0 else found


class _Reader:
    """Reads records until it has used up its memory, or its patience with sums that do not match."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data
        self._memory = MAX_MEMORY
        self._patience = 8 * len(data) + (1 << 20)

    @property
    def exhausted(self) -> bool:
        return self._memory <= 0 or self._patience <= 0

    def record_at(self, at: int) -> tuple[Record | Damage, int]:
        """What is there, and where it ends."""
        data, body_at = self._data, at + HEADER.size
        if len(data) < body_at:
            rest = bytes(data[at:])
            return Damage(len(rest), torn_end=MARK.startswith(rest[:4])), len(data)
        mark, size, crc = HEADER.unpack(data[at:body_at])
        if mark != MARK:
            return Damage(0), at
        if body_at + size > len(data):
            return Damage(len(data) - at, torn_end=_next_mark(data, at + 1) == len(data)), len(data)
        body = data[body_at : body_at + size]
        if zlib.crc32(body) != crc:
            self._patience -= size
            return Damage(0), at
        return self._parse(body), body_at + size

    def _parse(self, body: bytes) -> Record | Damage:
        """The record; a frame may be whole and yet hold no record of ours (a hostile or foreign file)."""
        try:
            inflater = zlib.decompressobj()
            text = inflater.decompress(body, MAX_RECORD)
            weight = len(text) + sum(text.count(sign) * bytes_ for sign, bytes_ in WEIGHTS.items())
            self._memory -= weight
            if inflater.unconsumed_tail or weight > MAX_RECORD:
                return Damage(len(body), too_large=True)
            kind, fields = json.loads(text)
        except (ValueError, TypeError, zlib.error, RecursionError):
            return Damage(len(body))
        return (kind, fields) if isinstance(kind, str) and isinstance(fields, dict) else Damage(len(body))
