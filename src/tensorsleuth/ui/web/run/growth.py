"""The growth of a run, seen from its files without reading them."""

from __future__ import annotations

import os
from pathlib import Path

from tensorsleuth.trace.storage import run_folder

_CLAIMED_AT = 48  # the offset of `claimed` in RingHeader, see native/src/files/ring.h
Signature = tuple[tuple[str, int, int], ...]


def signature(run: Path) -> Signature:
    """Return the sizes, times and headers of a run's files, which differ after any write."""
    files = [run / run_folder.META_FILE, run / run_folder.HANG_FILE, *sorted(run.glob("p-*/*"))]
    return tuple(_of_file(file) for file in files)


def _of_file(file: Path) -> tuple[str, int, int]:
    """Return the header of a file: mapped rows change neither its size nor its time."""
    try:
        status = os.stat(file)
        claimed = _claimed(file) if file.suffix == ".bin" else status.st_mtime_ns
    except OSError:  # deleted meanwhile
        return str(file), -1, -1
    return str(file), status.st_size, claimed


def _claimed(file: Path) -> int:
    """Return the number of rows in the header."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return int.from_bytes(os.pread(descriptor, 8, _CLAIMED_AT), "little")
    finally:
        os.close(descriptor)
