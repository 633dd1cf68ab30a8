"""The files that the native recorder writes: bounds, threads, forks, full disks. TensorFlow is not needed."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tensorsleuth.core.layout.rows import EVENT, SAMPLE_TIME_SHIFT, EventFlag
from tensorsleuth.core.modes import Mode
from tensorsleuth.native.loader import CallRow, SessionPlan, trace_paths
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.storage.ring_reader import RingFile
from tensorsleuth.trace.storage.size_plan import SMALL_CHUNK_ROWS, TracePlan, make_plan

NEVER = 2**64 - 1
SOURCES = Path(__file__).parents[2] / "src"


class Session:
    """A recording into `folder`."""

    def __init__(self, library: ctypes.CDLL, folder: Path) -> None:
        self.library, self.folder = library, folder

    def open(self, plan: TracePlan, chunk_rows: int | None = None) -> int:
        events, calls = plan.events, plan.calls
        rows = (chunk_rows or events.chunk_rows, events.chunks, events.window, calls.chunk_rows, calls.chunks)
        return int(
            self.library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(self.folder), 1, *rows, plan.value_bytes)))
        )

    def write(self, rows: int, start: int = 0, bad: int = NEVER, threads: int = 1, elements: int = 1) -> None:
        self.library.hammer(threads, start, rows, bad, Mode.FULL_HEALTH, elements)

    def close(self) -> ProcessTrace:
        self.library.sleuth_close()
        return ProcessTrace(self.folder)


@pytest.fixture
def session(recorder: ctypes.CDLL, tmp_path: Path) -> Iterator[Session]:
    yield Session(recorder, tmp_path)
    recorder.sleuth_close()


def ring_trouble(process: ProcessTrace) -> list[str]:
    return [line for line in process.trouble if "catalog" not in line]  # these traces have none


def holds(steps: np.ndarray, first: int, last: int) -> bool:
    return set(range(first, last + 1)) <= set(steps.tolist())


@pytest.mark.parametrize("bound", [1, 100, 512, 5000])
@pytest.mark.parametrize("written", [0, 1, 511, 512, 5000, 60_001])
def test_a_bound_keeps_at_least_so_many_of_the_newest(session: Session, bound: int, written: int) -> None:
    plan = make_plan(bound, False)
    assert session.open(plan) == 0
    session.write(written)
    process = session.close()
    steps = process.events["step"]
    assert np.array_equal(steps, np.sort(steps)), "oldest first"
    assert holds(steps, max(0, written - bound), written - 1)
    assert len(steps) + process.lost_events == written
    assert len(steps) <= plan.events.chunks * SMALL_CHUNK_ROWS
    assert not ring_trouble(process)


@pytest.mark.parametrize("bad", [0, 700, 20_000])
def test_the_window_around_the_first_bad_row_stays(session: Session, bad: int) -> None:
    plan = make_plan(1000, False)
    session.open(plan)
    session.write(100_000, bad=bad)
    session.write(10, start=100_000, bad=100_005)  # a later one moves nothing
    process = session.close()
    steps, window = process.events["step"], plan.events.window * SMALL_CHUNK_ROWS
    assert holds(steps, max(0, bad - window), bad + window)
    assert holds(steps, 100_010 - 1000, 100_009), "and still so many of the newest"
    assert [int(row["step"]) for row in process.bad_rows()] == [bad, 100_005]
    assert len(steps) < 20_000


def test_without_a_bound_all_stays(session: Session) -> None:
    session.open(make_plan(0, False))
    session.write(300_000)
    process = session.close()
    assert np.array_equal(process.events["step"], np.arange(300_000))
    assert process.lost_events == 0 and not ring_trouble(process)


@pytest.mark.parametrize("chunk_rows", [512, 4096])
def test_threads_that_write_at_once_lose_nothing(session: Session, chunk_rows: int) -> None:
    threads, each = 8, 60_000
    session.open(make_plan(0, False), chunk_rows)
    session.write(each, threads=threads)
    process = session.close()
    keys = process.events["tensor"].astype(np.int64) * each + process.events["step"].astype(np.int64)
    assert np.array_equal(np.sort(keys), each + np.arange(threads * each))
    assert np.all(process.events["kind"] == 2)
    assert not ring_trouble(process)


def test_closing_gives_back_what_was_not_used(session: Session) -> None:
    session.open(make_plan(None, False))
    session.write(10_000)
    open_size = (session.folder / "events.bin").stat().st_size
    process = session.close()
    offset = 4096 + -(-8 * make_plan(None, False).events.chunks // 4096) * 4096
    assert (session.folder / "events.bin").stat().st_size == offset + 10_000 * EVENT.itemsize < open_size
    assert len(process.events) == 10_000


def test_a_file_that_was_never_closed_reads_the_same(session: Session) -> None:
    session.open(make_plan(None, False))
    session.write(10_001)
    process = ProcessTrace(session.folder)
    assert np.array_equal(process.events["step"], np.arange(10_001))
    assert not ring_trouble(process)


def test_shapes_are_named_once(session: Session) -> None:
    session.open(make_plan(None, False))
    for elements in (3, 4, 3, 4, 5):
        session.write(1, elements=elements)
    process = session.close()
    assert [process.shape_of(row) for row in process.events] == [(3,), (4,), (3,), (4,), (5,)]
    assert process.shapes == [(), (3,), (4,), (5,)]


def test_calls_are_kept_whole(session: Session) -> None:
    session.open(make_plan(None, False))
    inputs = (ctypes.c_uint64 * 6)(11, 12, 13)
    call = CallRow(1, session.library.sleuth_next_call(), 7, 5, 3, 3, 4, 99, 1234, inputs)
    session.library.sleuth_call(ctypes.byref(call))
    process = session.close()
    (row,) = process.calls.tolist()
    assert row[:4] == (1, 1, 7, 5) and row[5:9] == (3, 4, 99, 1234)
    assert row[4] > 0, "the thread is the writer's own number"
    assert row[9].tolist() == [11, 12, 13, 0, 0, 0]
    assert process.call_of_tf_step == {1234: 1}


def test_values_are_kept_until_they_are_written_over(session: Session) -> None:
    plan = make_plan(None, True)
    bound, elements = 1 << 16, 1000
    assert session.open(TracePlan(plan.events, plan.calls, bound)) == 0
    session.library.hammer(1, 0, 100, NEVER, Mode.FULL_TENSOR, elements)
    process = session.close()
    process.catalogue.meta["value_bytes"] = bound
    values = [process.value(index) for index in range(100)]
    assert all(value is None for value in values[:80])
    kept = [(at, value) for at, value in enumerate(values) if value is not None]
    assert len(kept) >= 16 and kept[-1][0] == 99
    assert all(value.shape == (elements,) and value[0] == at for at, value in kept)
    assert (session.folder / "values.bin").stat().st_size <= bound


FORKS = """
import ctypes, os, sys
from pathlib import Path
from tensorsleuth.native.loader import SessionPlan, trace_paths
library = ctypes.CDLL(sys.argv[1])
library.hammer.argtypes = [ctypes.c_int, *[ctypes.c_uint64] * 3, ctypes.c_int, ctypes.c_int]
write = lambda start, rows: library.hammer(1, start, rows, 2**64 - 1, 4, 1)
assert library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(Path(sys.argv[2])), 1, 512, 100, 0, 512, 100, 0))) == 0
write(0, 1000)
child = os.fork()
write(1000, 5000)
library.sleuth_close()
if child:
    assert os.waitpid(child, 0)[1] == 0
else:
    other = sys.argv[2] + "/child"
    os.mkdir(other)
    assert library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(Path(other)), 2, 512, 100, 0, 512, 100, 0))) == 0
    write(0, 77)
    library.sleuth_close()
    os._exit(0)
"""


def run(program: str, *args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, args)]
    return subprocess.run(
        command, text=True, capture_output=True, check=True, env=os.environ | {"PYTHONPATH": str(SOURCES)}
    )


def test_a_forked_child_leaves_the_parents_files_alone(recorder_path: Path, tmp_path: Path) -> None:
    run(FORKS, recorder_path, tmp_path)
    assert np.array_equal(ProcessTrace(tmp_path).events["step"], np.arange(6000))
    assert len(ProcessTrace(tmp_path / "child").events) == 77, "and may record by itself"


def check_it_went_on(process: ProcessTrace, said: str, reason: int) -> None:
    steps = process.events["step"]
    assert steps[-1] == 49_999 and len(steps) >= 512, "the newest rows are there"
    (line,) = said.splitlines()
    assert line.startswith("tensorsleuth: ") and "events.bin" in line and line.endswith("the program goes on.")
    assert os.strerror(reason) in line and "the newest rows replace the oldest" in line
    (trouble,) = ring_trouble(process)
    assert os.strerror(reason) in trouble and f"{process.lost_events:,} rows are lost" in trouble
    assert process.lost_events == 50_000 - len(steps)


def test_a_full_disk_costs_one_line(session: Session, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    session.folder = tmp_path / "small"
    session.folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(session.folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        assert session.open(make_plan(20_000, False)) == 0
        session.write(50_000)
        check_it_went_on(session.close(), capfd.readouterr().err, errno.ENOSPC)
    finally:
        session.library.sleuth_close()
        subprocess.run(["umount", str(session.folder)], check=True)


LIMITED = """
import ctypes, resource, sys
from pathlib import Path
from tensorsleuth.native.loader import SessionPlan, trace_paths
library = ctypes.CDLL(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
assert library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(Path(sys.argv[2])), 1, 512, 100, 0, 512, 100, 0))) == 0
library.hammer(1, ctypes.c_uint64(0), ctypes.c_uint64(50_000), ctypes.c_uint64(2**64 - 1), 4, 1)
if len(sys.argv) == 3:
    library.sleuth_close()
"""


@pytest.mark.parametrize("killed", [(), ("killed",)])
def test_a_limit_on_file_size_costs_one_line(recorder_path: Path, tmp_path: Path, killed: tuple[str, ...]) -> None:
    done = run(LIMITED, recorder_path, tmp_path, *killed)
    check_it_went_on(ProcessTrace(tmp_path), done.stderr, errno.EFBIG)


def test_the_files_of_another_recording_are_left_alone(session: Session) -> None:
    assert session.open(make_plan(1, False)) == 0
    session.close()
    assert session.open(make_plan(1, False)) == errno.EEXIST
    session.write(10)
    assert session.library.sleuth_events() == 0


@pytest.mark.parametrize(
    ("place", "reason"),
    [("file/inside", errno.ENOTDIR), ("absent", errno.ENOENT), ("/proc/self", errno.ENOENT), ("/sys", None)],
)
def test_where_nothing_can_be_written_is_an_error(
    session: Session, tmp_path: Path, place: str, reason: int | None
) -> None:
    (tmp_path / "file").touch()
    session.folder = tmp_path / place
    error = session.open(make_plan(None, False))
    assert error == reason if reason else error in (errno.EACCES, errno.EPERM, errno.EROFS)
    session.write(10)  # does nothing
    assert session.library.sleuth_events() == 0


def test_a_wrapped_file_that_was_never_closed_reads_in_order(session: Session) -> None:
    session.open(make_plan(1000, False))
    session.write(20_000)
    process = ProcessTrace(session.folder)  # not closed
    assert np.all(process.events["kind"] != 0)
    ring = RingFile(session.folder / "events.bin", EVENT)
    assert ring.numbers().tolist() == process.events["step"].tolist()


def test_bad_rows_say_what_is_bad(session: Session) -> None:
    session.open(make_plan(None, False))
    session.write(10, bad=4, elements=7)
    (row,) = session.close().bad_rows()
    flags = EventFlag(int(row["flags"]) & ((1 << SAMPLE_TIME_SHIFT) - 1))
    assert flags == EventFlag.BAD | EventFlag.LOOKED | EventFlag.COUNTED | EventFlag.RANGED
    assert (row["nan"], row["zero"], row["first_bad"]) == (1, 6, 0)


def test_a_file_has_its_name_when_its_header_is_complete(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    """The page may read a run at any time, also while a file of layer statistics or values is being made."""
    folders = [tmp_path / str(number) for number in range(200)]

    def record() -> None:
        for folder in folders:
            folder.mkdir()
            session = Session(recorder, folder)
            assert session.open(make_plan(1000, False)) == 0
            session.library.sleuth_close()

    writer = threading.Thread(target=record)
    writer.start()
    headers = set()
    for folder in folders:
        path = folder / "shapes.bin"  # the last of the three
        while not path.exists() and writer.is_alive():
            pass
        headers.add(path.read_bytes()[:8])
    writer.join()
    assert headers == {b"SLEUTHRG"}
