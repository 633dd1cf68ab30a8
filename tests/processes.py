"""Fails a test that leaves a process behind, and ends what it left.

Each process of a test session adopts its orphans, so that a process whose parent has died is still seen here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 10.0  # seconds for a process to end after it was told to, on a busy machine
HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")  # Python ends them itself

_kept: set[int] = set()


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid: int | str = "self") -> set[int]:
    """Return the pids of the children of a process, of any of its threads."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found |= {int(child) for child in task.read_text().split()}
    return found


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Let the processes that are started in this block outlive the test that starts them."""
    before = children()
    yield
    _kept.update(children() - before)


def left_behind(before: set[int]) -> dict[int, str]:
    """Return the command lines of new children that are still running after a grace period."""
    until = time.monotonic() + GRACE_SECONDS
    while left := _running(children() - before - _kept):
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    return left


def end(pids: Iterable[int]) -> None:
    """Kill these processes and all that they started."""
    for pid in pids:
        below = children(pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        end(below)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _running(pids: Iterable[int]) -> dict[int, str]:
    commands = {pid: _command(pid) for pid in pids if not _ended(pid)}
    return {pid: command for pid, command in commands.items() if not any(helper in command for helper in HELPERS)}


def _ended(pid: int) -> bool:
    """Tell whether a child has ended; its exit code stays there for whoever waits for it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return ""
