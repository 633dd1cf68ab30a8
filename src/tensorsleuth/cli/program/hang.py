"""Notices that nothing happens any more in a program, and reports once where it is, without stopping it."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import time
from pathlib import Path

from tensorsleuth.core.layout.ring_header import HEADER, RingHeader
from tensorsleuth.live.startup.autostart import STACKS_SIGNAL
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

MAX_SECONDS_BETWEEN_LOOKS = 5.0  # in seconds
SECONDS_TO_DUMP_STACKS = 2.0  # in seconds

Activity = tuple[object, ...]


class HangWatch:
    """Checks how many rows there are. The caller calls `poll` every `every` seconds."""

    def __init__(self, run: Path, pid: int, after: float) -> None:
        self._run = run
        self._pid = pid
        self._after = after
        self.every = min(MAX_SECONDS_BETWEEN_LOOKS, after / 4) if after else None
        self._seen: Activity | None = None
        self._quiet, self._cpu = 0.0, 0.0
        self._looked = time.monotonic()
        self._noted = self._said = False

    def poll(self) -> None:
        """Check once. An error here must not end the watched program."""
        with contextlib.suppress(Exception):
            self._poll()

    def _poll(self) -> None:
        now, seen = time.monotonic(), self._activity()
        passed, self._looked = now - self._looked, now
        if seen is None or seen != self._seen or _is_stopped(self._pid):
            self._seen, self._quiet, self._cpu, self._noted = seen, 0.0, _cpu_seconds(self._pid), False
            return
        self._quiet += min(passed, 2 * (self.every or 0))  # this process may have been stopped itself
        if self._quiet >= self._after and not self._noted:
            self._noted = True
            self._note()

    def _activity(self) -> Activity | None:
        """Return a number that grows while anything happens; None if nothing is recorded now."""
        folders = sorted(self._run.glob("p-*"))
        rings = [_head(folder / name) for folder in folders for name in ("events.bin", "calls.bin")]
        if not any(ring and not ring.closed for ring in rings) or any(
            (one / run_folder.PAUSED_FILE).exists() for one in folders
        ):
            return None
        return (*(ring and ring.claimed for ring in rings), *(_size(one / "catalog.journal") for one in folders))

    def _note(self) -> None:
        """Write each hang into the run, but report only the first to the user."""
        busy = (_cpu_seconds(self._pid) - self._cpu) / self._quiet
        fact = {"time": time.time(), "quiet": self._quiet, "busy": busy, "pid": self._pid}
        (self._run / run_folder.HANG_FILE).write_text(json.dumps(fact))
        _request_stacks(self._run, self._pid)
        if not self._said:
            self._said = True
            self._tell(busy)

    def _tell(self, busy: float) -> None:
        from tensorsleuth.diagnose.exits.kinds import run_end
        from tensorsleuth.trace.reader import Trace
        from tensorsleuth.ui.terminal.end_report import hang_report

        console.show_on_stderr(hang_report(run_end(Trace(self._run)), self._quiet, busy))


def _request_stacks(run: Path, pid: int) -> None:
    """Make the program write its stacks, if it has announced that it will."""
    file = run / run_folder.FAULTS_FOLDER / str(pid)
    before = _size(file)
    if before is None or not _catches(pid, STACKS_SIGNAL):
        return
    os.kill(pid, STACKS_SIGNAL)
    deadline = time.monotonic() + SECONDS_TO_DUMP_STACKS
    while _size(file) == before and time.monotonic() < deadline:
        time.sleep(0.05)


def _catches(pid: int, number: int) -> bool:
    """Return whether a process has a handler for a signal, which would kill it otherwise."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:")), 0)
    return bool(caught >> (number - 1) & 1)


def _head(path: Path) -> RingHeader | None:
    try:
        with path.open("rb") as file:
            return RingHeader(*HEADER.unpack(file.read(HEADER.size)))
    except (OSError, struct.error):
        return None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


def _is_stopped(pid: int) -> bool:
    return _stat(pid)[0] in "Tt"


def _cpu_seconds(pid: int) -> float:
    return sum(map(int, _stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")
