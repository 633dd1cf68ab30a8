"""The last output of a program whose stderr is a file. The reason of an abort is found nowhere else.

A terminal or a pipe is not read. To read it, tensorsleuth would have to replace it, and the program would notice.
"""

from __future__ import annotations

import os
import re
import stat

TAIL_BYTES = 64 << 10
MAX_LINE_LENGTH = 500  # characters of a line
_REASON = re.compile(
    r"Check failed|Assertion|terminate called|what\(\):|double free|invalid pointer|corrupted|malloc|"
    r"\bF0{0,3}\d+ |: F |FATAL|Fatal"
)


class StderrTail:
    """Reads what is written to our stderr from now on, if the program cannot notice that."""

    def __init__(self, descriptor: int = 2) -> None:
        self._path = f"/proc/self/fd/{descriptor}"
        self._start = self._size()

    def _size(self) -> int | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def abort_reasons(self) -> list[str]:
        """Return the new lines that say why a program aborted, oldest first."""
        size = self._size()
        if self._start is None or size is None:
            return []
        try:
            with open(self._path, "rb") as file:  # a new descriptor keeps the program's position
                file.seek(max(min(self._start, size), size - TAIL_BYTES))
                lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()
        except OSError:  # we may write to the file, but not read it
            return []
        return [line.strip()[:MAX_LINE_LENGTH] for line in lines if _REASON.search(line)][-3:]
