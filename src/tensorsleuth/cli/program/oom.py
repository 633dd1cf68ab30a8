"""Facts about memory from the kernel: kills by the OOM killer in our container, and the available memory."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

NO_LIMIT = 1 << 60  # cgroup v1 says "none" as a number near 2^63
_KILLED = re.compile(r"(Memory cgroup out of memory|Out of memory): Killed process (\d+)")


@dataclass(frozen=True)
class CgroupMemory:
    """The counters and limits of our cgroup."""

    kills: int | None = None  # kills by the OOM killer since the group was made; None if not counted
    full: int | None = None  # how often the limit was reached
    limit: int | None = None  # bytes that the group and its parents may use; None: no limit
    machine: int | None = None  # bytes of the machine


def read_cgroup(root: Path = Path("/")) -> CgroupMemory:
    """Return the current state of this process's group; `root` is the folder of /proc and /sys."""
    kills, full, limit = _version2(root) or _version1(root) or (None, None, None)
    machine = _field(root / "proc/meminfo", "MemTotal:")
    machine = machine * 1024 if machine is not None else None
    if limit is not None and (limit >= NO_LIMIT or (machine is not None and limit >= machine)):
        limit = None
    return CgroupMemory(kills, full, limit, machine)


def memory_changes(before: CgroupMemory, after: CgroupMemory, pid: int, peak: int) -> dict[str, Any]:
    """Return the changes between two states as plain values; `peak` is the program's peak resident memory."""
    kills = after.kills - before.kills if after.kills is not None and before.kills is not None else None
    full = after.full - before.full if after.full is not None and before.full is not None else None
    happened = CgroupMemory(kills, full, after.limit, after.machine)
    return {**asdict(happened), "peak": peak, "logged": logged_killer(pid) if kills != 0 else None}


def logged_killer(pid: int, path: str = "/dev/kmsg") -> str | None:
    """Return whose OOM killer the kernel's log names, `container` or `machine`; None if it names none."""
    found = None
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            while record := _record(descriptor):
                match = _KILLED.search(record)
                if match and int(match.group(2)) == pid:
                    found = "container" if match.group(1).startswith("Memory cgroup") else "machine"
        finally:
            os.close(descriptor)
    return found


def _record(descriptor: int) -> str:
    """Return the next record of the log, or an empty one at its end, which the kernel reports as an error."""
    while True:
        try:
            return os.read(descriptor, 8192).decode(errors="replace")
        except BrokenPipeError:  # the record was overwritten meanwhile
            continue
        except OSError:
            return ""


def _version2(root: Path) -> tuple[int | None, int | None, int | None] | None:
    folders = _folders(root, "", root / "sys/fs/cgroup")
    events = next((folder / "memory.events" for folder in folders if (folder / "memory.events").is_file()), None)
    if events is None:
        return None
    limits = [limit for folder in folders if (limit := _number(folder / "memory.max")) is not None]
    return _field(events, "oom_kill"), _field(events, "max"), min(limits, default=None)


def _version1(root: Path) -> tuple[int | None, int | None, int | None] | None:
    folders = _folders(root, "memory", root / "sys/fs/cgroup/memory")
    folder = next((one for one in folders if (one / "memory.limit_in_bytes").is_file()), None)
    if folder is None:
        return None
    limits = [limit for one in folders if (limit := _number(one / "memory.limit_in_bytes")) is not None]
    return _field(folder / "memory.oom_control", "oom_kill"), _number(folder / "memory.failcnt"), min(limits)


def _folders(root: Path, controller: str, mounted: Path) -> list[Path]:
    """Return our group's folder and its parents. A container may see its own group as the root."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return [mounted]
    groups = [group for line in lines for _, names, group in [line.split(":", 2)] if controller in names.split(",")]
    inner = mounted / groups[0].lstrip("/") if groups else mounted
    return [inner, *(folder for folder in inner.parents if folder.is_relative_to(mounted))]


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # missing, or "max"
        return None


def _field(path: Path, name: str) -> int | None:
    """Return the number after a name, in a file of names and numbers."""
    try:
        words = [line.split() for line in path.read_text().splitlines()]
        return next((int(line[1]) for line in words if len(line) > 1 and line[0] == name), None)
    except (OSError, ValueError):
        return None
