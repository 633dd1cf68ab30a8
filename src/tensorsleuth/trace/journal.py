"""The catalogue on disk: an append-only file of framed records, each a small JSON text, deflated.

    | b"SLJ1" | uint32 size | uint32 crc32 | deflated JSON |

Every record is one `write`, so a killed process leaves at most one torn record, at the end. A damaged record is
stepped over by looking for the next mark. No locks: any number of readers, also while it grows, on any file system.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = b"SLJ1"
HEADER = struct.Struct("<4sII")
MAX_RECORD = 256 << 20  # what one record may inflate to

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
        os.write(self._file, frame)
        return True

    def close(self) -> None:
        os.close(self._file)


@dataclass(frozen=True)
class Damage:
    """How much of a journal could not be read."""

    bytes: int
    torn_end: bool


def read(data: bytes) -> Iterator[Record | Damage]:
    """The records of a journal, in order; what is damaged is counted and stepped over."""
    at = 0
    while at < len(data):
        record, after = _record_at(data, at)
        if record is not None:
            yield record
        else:
            after = _next_mark(data, at + 1)
            yield Damage(after - at, torn_end=after == len(data))
        at = after


def _next_mark(data: bytes, start: int) -> int:
    found = data.find(MARK, start)
    return len(data) if found < 0 else found


def _record_at(data: bytes, at: int) -> tuple[Record | None, int]:
    if len(data) - at < HEADER.size:
        return None, at
    mark, size, crc = HEADER.unpack_from(data, at)
    end = at + HEADER.size + size
    if mark != MARK or end > len(data):
        return None, at
    body = data[at + HEADER.size : end]
    if zlib.crc32(body) != crc:
        return None, at
    return _parse(body), end


def _parse(body: bytes) -> Record | None:
    """The record, or None where a frame is whole but holds no record of ours (a hostile or foreign file)."""
    try:
        inflater = zlib.decompressobj()
        text = inflater.decompress(body, MAX_RECORD)
        if inflater.unconsumed_tail:
            return None
        kind, fields = json.loads(text)
    except (ValueError, TypeError, zlib.error, RecursionError):
        return None
    return (kind, fields) if isinstance(kind, str) and isinstance(fields, dict) else None
