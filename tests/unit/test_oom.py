"""What the kernel says of memory, read from files as both versions of cgroups have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorsleuth.cli.program.oom import CgroupMemory, logged_killer, memory_changes, read_cgroup
from tensorsleuth.cli.program.stderr_tail import StderrTail

MEMINFO = "MemTotal:       16384000 kB\nMemFree: 1 kB\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_version_2_with_a_limit_further_out(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/pod/train\n",
            "sys/fs/cgroup/pod/memory.max": "536870912\n",
            "sys/fs/cgroup/pod/train/memory.max": "max\n",
            "sys/fs/cgroup/pod/train/memory.events": "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n",
        },
    )
    assert read_cgroup(root) == CgroupMemory(kills=3, full=7, limit=512 << 20, machine=16384000 * 1024)


def test_version_1_in_a_container_that_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "4:memory:/docker/0123abcd\n3:cpu:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
            "sys/fs/cgroup/memory/memory.failcnt": "12\n",
            "sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
        },
    )
    assert read_cgroup(root) == CgroupMemory(kills=1, full=12, limit=1 << 30, machine=16384000 * 1024)


@pytest.mark.parametrize("limit", ["9223372036854771712", "16777216000"])
def test_no_limit_is_none(tmp_path: Path, limit: str) -> None:
    files = {"proc/meminfo": MEMINFO, "sys/fs/cgroup/memory/memory.limit_in_bytes": limit}
    assert read_cgroup(write(tmp_path, files)).limit is None


def test_nothing_to_read(tmp_path: Path) -> None:
    assert read_cgroup(tmp_path) == CgroupMemory()
    assert memory_changes(CgroupMemory(), CgroupMemory(), 1, 5)["kills"] is None


def test_what_happened_between_two_looks() -> None:
    before, after = CgroupMemory(1, 10, 100, 1000), CgroupMemory(1, 12, 100, 1000)
    happened = memory_changes(before, after, 1, 90)
    assert happened == {"kills": 0, "full": 2, "limit": 100, "machine": 1000, "peak": 90, "logged": None}


def test_log_of_the_kernel(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text("6,1,1,-;Memory cgroup out of memory: Killed process 77 (python) total-vm:1kB\n")
    assert logged_killer(77, str(log)) == "container"
    assert logged_killer(78, str(log)) is None
    log.write_text("6,1,1,-;Out of memory: Killed process 78 (python) total-vm:1kB\n")
    assert logged_killer(78, str(log)) == "machine"
    assert logged_killer(78, str(tmp_path / "none")) is None


def test_last_words_of_a_file_from_where_it_began(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+") as stderr:
        stderr.write("Check failed: of an earlier program\n")
        stderr.flush()
        words = StderrTail(stderr.fileno())
        stderr.write("loading\n2026-01-01 10:00:00.1: F tensorflow/core/x.cc:12] Check failed: a == b (1 vs. 2)\nbye\n")
        stderr.flush()
        assert [line.partition("] ")[2] for line in words.abort_reasons()] == ["Check failed: a == b (1 vs. 2)"]


def test_pipe_is_left_alone() -> None:
    import os

    end, other = os.pipe()
    words = StderrTail(other)
    os.write(other, b"Check failed: x\n")
    assert words.abort_reasons() == []
    assert os.read(end, 100) == b"Check failed: x\n"
    os.close(end)
    os.close(other)
