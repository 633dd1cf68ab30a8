"""How much memory this process may still take."""

from __future__ import annotations

from pathlib import Path

_CGROUPS = (  # limit, in use: version 2, then 1
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def free_memory() -> int | None:
    """Bytes that are free, within the container's limit; None where nobody says."""
    room = [room for room in (_of_machine(), *(_of_cgroup(*paths) for paths in _CGROUPS)) if room is not None]
    return min(room, default=None)


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
    except (OSError, ValueError):  # not there, or "max"
        return None
