"""The header of a file of rows, as in `native/src/files/ring.h`. Uses no NumPy, because `sleuth run` reads it too."""

from __future__ import annotations

import struct
from dataclasses import dataclass

HEADER = struct.Struct("<8sIIIIQQqQQQQQQ")
MAGIC = b"SLEUTHRG"


@dataclass(frozen=True)
class RingHeader:
    """The fields of RingHeader in ring.h."""

    magic: bytes
    version: int
    row_size: int
    chunk_rows: int
    pid: int
    offset: int
    max_chunks: int
    epoch: int
    claimed: int
    chunks: int
    dropped: int
    alarm: int
    trouble: int
    closed: int
