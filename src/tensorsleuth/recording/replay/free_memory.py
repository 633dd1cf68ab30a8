"""The memory that this process may still allocate."""

from __future__ import annotations

import resource
from pathlib import Path

_CGROUPS = (  # (limit, usage) of cgroup version 2, then 1
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def free_memory() -> int | None:
    """Return the free bytes within the container's limit; None if unknown."""
    room = [room for room in (_of_machine(), *(_of_cgroup(*paths) for paths in _CGROUPS)) if room is not None]
    return min(room, default=None)


def has_room_for_another() -> bool:
    """Return whether the free memory is at least what this process uses now, which suffices to repeat any past call."""
    room, taken = free_memory(), _resident()
    return room is None or taken is None or room > taken


def _resident() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) * 1024 if found else None


def _of_cgroup(limit: Path, used: Path) -> int | None:
    try:
        return max(int(limit.read_text()) - int(used.read_text()), 0)
    except (OSError, ValueError):  # the file is missing or says "max"
        return None
