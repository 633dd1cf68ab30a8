"""The first bytes of a file of rows, as `native/src/files/ring.h` has them. No NumPy: `sleuth run` reads them, too."""

from __future__ import annotations

import struct
from dataclasses import dataclass

HEADER = struct.Struct("<8sIIIIQQqQQQQQQ")
MAGIC = b"SLEUTHRG"


@dataclass(frozen=True)
class RingHeader:
    """RingHeader in ring.h."""

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
