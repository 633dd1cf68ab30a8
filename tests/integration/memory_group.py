"""A memory limit that the kernel enforces: a cgroup inside of our own, where we may make one."""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

HIERARCHIES = (("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("", "/sys/fs/cgroup", "memory.max"))


@contextlib.contextmanager
def limited_group(limit: int) -> Iterator[Path | None]:
    """The folder of a group whose processes may have `limit` bytes together; None where there can be none."""
    group = _make(limit)
    try:
        yield group
    finally:
        while group is not None and group.exists() and (group / "cgroup.procs").read_text():
            time.sleep(0.05)  # the kernel is not done with them yet
        if group is not None and group.exists():
            group.rmdir()


def _make(limit: int) -> Path | None:
    for controller, mounted, file in HIERARCHIES:
        group = Path(mounted) / _own(controller).lstrip("/") / f"sleuth-test-{uuid.uuid4().hex}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            with (group / file).open("r+") as limits:  # only a cgroup's folder has such a file
                limits.write(str(limit))
            with contextlib.suppress(OSError):  # where there is swap: none of it
                (group / "memory.swap.max").write_text("0")
            return group
        except OSError:
            group.rmdir()
    return None


def _own(controller: str) -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if controller in names.split(","):
                return path
    return "/"


def enter(group: Path) -> None:
    """Move this process into a group; for a child before it runs a program."""
    (group / "cgroup.procs").write_text(str(os.getpid()))
