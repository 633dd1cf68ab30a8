"""Opens the files of a trace. Their names may belong to anything else: a pipe must not hang the reader."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Protocol


class Folder(Protocol):
    """The folder of one process's trace files: a path, or memory."""

    def __truediv__(self, name: str, /) -> Path: ...


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; for anything else, raise an OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb", buffering=0)


def write_atomically(path: Path, text: str) -> None:
    """Write a file in one step, so that a concurrent reader never sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
