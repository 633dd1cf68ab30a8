"""What the native recorder writes about memory: samples, buffers, the cgroup's limit. TensorFlow is not needed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from tensorsleuth.core.layout.rows import MIN_BUFFER_BYTES
from tensorsleuth.native.loader import SessionPlan, trace_paths
from tensorsleuth.trace.process.process import ProcessTrace

SOURCES = Path(__file__).parents[2] / "src"
MB = 1 << 20
V2 = {
    "": "0::/app/job\n",
    "memory.current": "7000\n",
    "app/memory.current": "5000\n",
    "app/job/memory.current": "3000\n",
}
NONE_V1 = "9223372036854771712\n"


def v1(path: str, used: str, limit: str) -> dict[str, str]:
    return {f"memory/{path}memory.usage_in_bytes": used, f"memory/{path}memory.limit_in_bytes": limit}


def group(tmp_path: Path, files: dict[str, str]) -> tuple[Path, Path]:
    """A cgroup of which these files exist; "" is /proc/self/cgroup. Where that and the others are."""
    for name, text in files.items():
        path = tmp_path / "root" / name if name else tmp_path / "membership"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "membership", tmp_path / "root"


@pytest.mark.parametrize(
    ("files", "used", "limit"),
    [
        (V2 | {"app/job/memory.max": "max\n", "app/memory.max": "8000\n", "memory.max": "9000\n"}, 5000, 8000),
        (V2 | {"app/job/memory.max": "4000\n", "app/memory.max": "8000\n"}, 3000, 4000),
        (V2 | {"app/job/memory.max": "max\n"}, 3000, 0),
        ({"": "3:cpu:/x\n4:memory:/x\n0::/\n"} | v1("x/", "11\n", "22\n"), 11, 22),
        ({"": "4:memory:/x\n"} | v1("x/", "11\n", NONE_V1), 11, 0),
        ({"": "4:cpu,memory:/not/here\n"} | v1("", "5\n", "6\n"), 5, 6),
        ({"": ""}, 0, 0),
    ],
)
def test_the_smallest_limit_of_the_groups_around(
    recorder: ctypes.CDLL, tmp_path: Path, files: dict[str, str], used: int, limit: int
) -> None:
    membership, root = group(tmp_path, files)
    found = (ctypes.c_uint64 * 2)()
    recorder.sleuth_memory_group(str(membership).encode(), str(root).encode(), found)
    assert list(found) == [used, limit]


def open_both(library: ctypes.CDLL, folder: Path, chunks: int = 100) -> None:
    names = (str(folder / name).encode() for name in ("memory.bin", "buffers.bin", "passed.bin"))
    files = ((name, ctypes.c_uint64(512), ctypes.c_uint64(chunks)) for name in names)
    assert library.sleuth_open_memory(*chain(*files)) == 0
    assert library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(folder), 1, 512, 100, 0, 512, 100, 0))) == 0


def test_tensors_of_64_kb_have_a_row_and_smaller_ones_none(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    open_both(recorder, tmp_path)
    recorder.hammer(1, 0, 3, 2**64 - 1, 4, MIN_BUFFER_BYTES // 4)
    recorder.hammer(1, 3, 3, 2**64 - 1, 4, MIN_BUFFER_BYTES // 4 - 1)
    recorder.sleuth_close()
    process = ProcessTrace(tmp_path)
    assert process.buffers["step"].tolist() == [0, 1, 2]
    assert set(process.buffers["bytes"].tolist()) == {MIN_BUFFER_BYTES} and process.buffers["address"].all()
    assert [process.shape_of(row) for row in process.buffers] == [(MIN_BUFFER_BYTES // 4,)] * 3
    assert process.lost_buffers == 0


def test_a_full_file_of_buffers_keeps_the_newest_and_says_so(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    open_both(recorder, tmp_path, chunks=2)
    recorder.hammer(1, 0, 2000, 2**64 - 1, 0, MIN_BUFFER_BYTES // 4)
    recorder.sleuth_close()
    process = ProcessTrace(tmp_path)
    assert process.buffers["step"][-1] == 1999 and len(process.buffers) + process.lost_buffers == 2000


def test_a_sample_when_it_begins_and_one_when_it_ends(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    open_both(recorder, tmp_path)
    recorder.sleuth_set_step(ctypes.c_int64(5))
    recorder.sleuth_close()
    memory = ProcessTrace(tmp_path).memory
    assert len(memory) == 2 and memory["step"].tolist()[1] == 5
    assert (memory["anonymous"] <= memory["resident"]).all() and memory["resident"][0] > 8 * MB
    assert memory["available"].all()


def test_an_old_trace_has_none(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    assert recorder.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(tmp_path), 1, 512, 100, 0, 512, 100, 0))) == 0
    recorder.sleuth_close()
    process = ProcessTrace(tmp_path)
    assert not len(process.memory) and not len(process.buffers)
    assert not [line for line in process.trouble if "catalog" not in line]


GROWS = """
import ctypes, os, signal, sys
from pathlib import Path
from tensorsleuth.native.loader import CallRow, SessionPlan, trace_paths
from tensorsleuth.trace.process.process import ProcessTrace
library, folder = ctypes.CDLL(sys.argv[1]), Path(sys.argv[2])
names = [str(folder / name).encode() for name in ("memory.bin", "buffers.bin", "passed.bin")]
size = ctypes.c_uint64
assert library.sleuth_open_memory(*(one for name in names for one in (name, size(512), size(10)))) == 0
assert library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(folder), 1, 512, 100, 0, 512, 100, 0))) == 0
ours = lambda: [path for path in Path("/proc/self/task").iterdir() if "sleuth" in (path / "comm").read_text()]
assert not ours(), "before the first call there is no thread"
library.sleuth_call(ctypes.byref(CallRow(kind=1)))
while not ours():
    pass  # it names itself
(thread,) = ours()
blocked = next(line for line in (thread / "status").read_text().splitlines() if line.startswith("SigBlk"))
assert all(int(blocked.split()[1], 16) & 1 << one - 1 for one in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM))
child = os.fork()
if not child:
    library.sleuth_close()
    os._exit(bool(ours()))
assert os.waitpid(child, 0)[1] == 0
seen = lambda: int(ProcessTrace(folder).memory["resident"][-1])
before, block = seen(), b"x" * (64 << 20)  # in one call that Python waits for
while seen() < before + (60 << 20):
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_growth_is_seen_by_a_thread_of_its_own_and_outlives_a_kill(recorder_path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", GROWS, str(recorder_path), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    ended = subprocess.run(command, text=True, capture_output=True, env=environment, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    memory = ProcessTrace(tmp_path).memory
    assert int(memory["resident"].max() - memory["resident"].min()) > 60 * MB
    assert int(memory["anonymous"].max() - memory["anonymous"].min()) > 60 * MB
    assert np.all(np.diff(memory["time"].astype(np.int64)) > 0)
