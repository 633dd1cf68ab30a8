"""A folder of files that have no name on any disk. They disappear with the process, however it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

DESCRIPTOR_PREFIX = "/proc/self/fd/"  # native/src/files/ring.cc recognizes an existing file by this prefix


class MemoryFolder:
    """Stands in for the folder of a process's trace; `folder / name` is a path that this process can open."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}

    def __truediv__(self, name: str) -> Path:
        if name not in self._files:
            self._files[name] = os.memfd_create(f"tensorsleuth-{name}", os.MFD_CLOEXEC)
        return Path(f"{DESCRIPTOR_PREFIX}{self._files[name]}")

    def close(self) -> None:
        files, self._files = self._files, {}
        for descriptor in files.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)


class PrivateFolder:
    """A private folder on a disk, for systems without memory files. It is removed at the end, unless killed."""

    def __init__(self) -> None:
        self._path = Path(tempfile.mkdtemp(prefix="tensorsleuth-"))

    def __truediv__(self, name: str) -> Path:
        return self._path / name

    def close(self) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


def memory_folder() -> MemoryFolder | PrivateFolder:
    """Return a memory folder, or a private one on a disk if the system has no memory files."""
    return MemoryFolder() if hasattr(os, "memfd_create") and os.path.isdir(DESCRIPTOR_PREFIX) else PrivateFolder()
