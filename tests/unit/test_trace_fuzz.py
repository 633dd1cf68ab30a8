"""Whatever stands in the files of a trace: it is read, in part and saying so, or refused with a sentence."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.thorough import examples

import tensorsleuth
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.ring_header import HEADER
from tensorsleuth.core.modes import Mode
from tensorsleuth.native.loader import SessionPlan, trace_paths
from tensorsleuth.trace.reader import Trace, open_trace
from tensorsleuth.trace.run_summary import summarize
from tensorsleuth.trace.storage import journal, run_folder, synthetic

EVENTS = 700
SLOWEST = 2 * 5.0  # seconds of this process, however busy the machine is; `examine` reads everything twice
MOST_MEMORY = 500 << 20
HUGE = [0, 1, 511, 1 << 20, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 40
FILES = ("events.bin", "calls.bin", "shapes.bin", "value_rows.bin", "values.bin", "catalog.journal")
FUZZ = settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory, recorder: ctypes.CDLL) -> Path:
    """A run of two processes: one closed with a catalogue, the other killed, wrapped around and with values."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "NODES", 40)
        run = synthetic.write(tmp_path_factory.mktemp("runs") / "sound", EVENTS, bad=5)
    (first,) = run.glob("p-*")
    first = first.rename(run / "p-1")
    second = run / "p-2"
    second.mkdir()
    plan = SessionPlan(*trace_paths(second), 1, 512, 5, 1, 512, 5, 1 << 14)
    assert recorder.sleuth_open(ctypes.byref(plan)) == 0
    recorder.hammer(1, 0, 6000, 1000, Mode.FULL_TENSOR, 5)
    for name in FILES[:-1]:
        shutil.copy(second / name, second / f"{name}.killed")
    recorder.sleuth_close()
    for name in FILES[:-1]:
        (second / f"{name}.killed").replace(second / name)
    shutil.copy(first / "catalog.journal", second)
    catalog = journal.Journal(second / "catalog.journal", 1 << 20)
    catalog.append("meta", {"value_bytes": 1 << 14})
    catalog.close()
    return run


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "run"))


def fresh(sound: Path, run: Path) -> None:
    """Undo what the last example did."""
    shutil.rmtree(run)
    shutil.copytree(sound, run)


def changed(sound: Path, run: Path, name: str, change: Callable[[bytearray], None]) -> Path:
    """A copy of a run, with a change to the beginning of one of its files."""
    run.mkdir()
    fresh(sound, run)
    (path,) = run.glob(f"p-*/{name}")
    with path.open("r+b") as file:
        data = bytearray(file.read(1 << 20))
        change(data)
        file.seek(0)
        file.write(data)
    return run


def examine(run: Path) -> Trace:
    """Ask a trace everything."""
    trace = open_trace(run)
    summarize(run)
    run_folder.list_runs(run.parent)
    assert trace.events.dtype.names is not None
    for bad in trace.bad():
        assert bad.step is None or isinstance(bad.step, int)
    for process in trace.processes:
        known = [first + offset for first in process._starts[0][:50] for offset in (-1, 0, 1, 500, 999, 1000, 10**6)]
        for number in [0, *known, *np.unique(process.events["tensor"])[:1000].tolist()]:
            process.tensor(number)
        for index in (*range(0, len(process.events), 97), len(process.events) - 1):
            process.value(index)
            process.shape_of(process.events[max(index, 0)]) if len(process.events) else None
        assert process.lost_events >= 0 and process.event_count >= 0
    question(trace)
    assert tensorsleuth.diagnose(trace).verdict in ("healthy", "problem", "unknown")
    assert all(isinstance(line, str) and line for line in [*trace.trouble, *map(str, trace.not_covered)])
    return trace


def question(trace: Trace) -> None:
    """What the Python API answers."""
    tensors, known = trace.tensors(), trace.tensors(".*", step=slice(None))
    assert {len(column) for column in tensors.to_dict().values()} == {len(tensors)} and repr(trace.ops()[:5])
    assert len(trace.steps) >= 0 and len(trace.variables()) >= 0
    for tensor in [*tensors[:3], *tensors[-3:], *known[:3]]:
        assert repr(tensor) and tensor.health["elements"] >= -1 and (tensor.source, tensor.value)
        assert len([*tensor.inputs(), *tensor.consumers()]) >= 0


@contextmanager
def within_bounds() -> Iterator[None]:
    Path("/proc/self/clear_refs").write_text("5")  # makes VmHWM the memory in use now
    before, started = peak_memory(), time.process_time()
    yield
    assert time.process_time() - started < SLOWEST
    assert peak_memory() - before < MOST_MEMORY


def peak_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def survives(run: Path) -> Trace | None:
    """The trace, or None where it was refused with a sentence."""
    started, refusal, trace = time.process_time(), "", None
    try:
        trace = examine(run)
    except SleuthError as error:
        refusal = str(error)
    assert time.process_time() - started < SLOWEST
    assert trace is not None or (len(refusal) > 20 and "\n" not in refusal)
    return trace


def must_say(run: Path, *words: str) -> None:
    with within_bounds():
        trace = survives(run)
    if trace is not None:
        assert trace.trouble, "something was lost, and nothing was said"
        assert not words or any(all(word in line for word in words) for line in trace.trouble), trace.trouble


def test_a_sound_trace_has_no_trouble(run: Path) -> None:
    trace = examine(run)
    assert not trace.trouble
    assert len(trace.processes[0].events) == EVENTS and len(list(trace.processes[0].bad_rows())) == 5
    wrapped = trace.processes[1]
    assert wrapped.lost_events > 0 and wrapped.events["step"][-1] == 5999
    value = wrapped.value(wrapped.events["step"].tolist().index(1001))
    assert value is not None and value.tolist() == [1001, 0, 0, 0, 0]


@st.composite
def changes(draw: st.DrawFn) -> Callable[[bytearray], None]:
    """A change to the bytes of a file; places are fractions, and favour its head and its end."""
    place = st.floats(0, 1) | st.floats(0, 0.01) | st.floats(0.99, 1) | st.sampled_from([i / 1e5 for i in range(100)])
    at = draw(place)
    kind = draw(st.sampled_from(["flip", "cut", "random", "number", "insert", "delete", "zeros", "double"]))
    bits, raw = draw(st.integers(0, 7)), draw(st.binary(min_size=1, max_size=40))
    number = draw(st.sampled_from(HUGE) | st.integers(0, 2**64 - 1))

    def change(data: bytearray) -> None:
        where = min(int(at * len(data)), max(len(data) - 1, 0))
        if kind == "flip" and data:
            data[where] ^= 1 << bits
        elif kind == "cut":
            del data[where:]
        elif kind == "random":
            data[where : where + len(raw)] = raw[: len(data) - where]
        elif kind == "number":
            data[where // 8 * 8 : where // 8 * 8 + 8] = struct.pack("<Q", number)
        elif kind == "insert":
            data[where:where] = raw
        elif kind == "delete":
            del data[where : where + len(raw)]
        elif kind == "zeros":
            data[where:] = bytes(len(data) - where)
        elif kind == "double":
            data[where:where] = data[: len(data) // 2]

    return change


@FUZZ
@given(
    process=st.sampled_from(["p-1", "p-2"]),
    name=st.sampled_from(FILES),
    several=st.lists(changes(), min_size=1, max_size=3),
)
def test_any_change_to_any_file(
    sound: Path, run: Path, process: str, name: str, several: list[Callable[[bytearray], None]]
) -> None:
    fresh(sound, run)
    path = run / process / name
    data = bytearray(path.read_bytes()) if path.exists() else bytearray()
    for change in several:
        change(data)
    path.write_bytes(data)
    survives(run)


@pytest.mark.parametrize("process", ["p-1", pytest.param("p-2", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["events.bin", "calls.bin", "shapes.bin", "value_rows.bin"])
def test_any_number_in_a_header(run: Path, process: str, name: str) -> None:
    path = run / process / name
    if not path.exists():
        return
    original = path.read_bytes()
    before = sum(map(len, (p.events for p in Trace(run).processes)))
    places = [(at, "<I") for at in range(8, 24, 4)] + [(at, "<Q") for at in range(24, HEADER.size, 8)]
    places += [(4096 + 8 * at, "<Q") for at in range(3)]
    for place, form in places:
        for number in HUGE[:1] + HUGE[3::2]:
            data = bytearray(original)
            struct.pack_into(form, data, place, number & (2**32 - 1 if form == "<I" else 2**64 - 1))
            path.write_bytes(data)
            trace = survives(run)
            if trace is not None and process == "p-1" and name == "events.bin":
                assert len(trace.events) == before or trace.trouble, (place, number)


@pytest.mark.parametrize("name", ["events.bin", "calls.bin"])
def test_a_file_cut_anywhere_says_what_is_missing(run: Path, name: str) -> None:
    path = run / "p-1" / name
    data = path.read_bytes()
    for size in (0, 1, 7, 8, 9, 24, 103, 104, 4095, 4096, 5000, 24_575, 24_576, 24_577, len(data) - 1):
        path.write_bytes(data[:size])
        must_say(run, name)


@pytest.mark.parametrize("name", FILES[:3] + FILES[5:])
def test_a_missing_foreign_or_strange_file_is_named(run: Path, name: str) -> None:
    path = run / "p-1" / name
    path.unlink()
    must_say(run, name)
    for content in (b"", PNG, b"\0" * 100_000, b"SLEUTHRG", b"SLJ1", os.urandom(50_000)):
        path.write_bytes(content)
        if not (name == "catalog.journal" and content == b"SLJ1"):  # a torn end
            must_say(run, name)
    path.unlink()
    for target in ("/dev/zero", "/dev/stdin", name, "../p-1", "/proc/self/mem"):
        path.symlink_to(target)
        must_say(run, name)
        path.unlink()
    os.mkfifo(path)
    must_say(run, name)
    path.unlink()
    path.mkdir()
    must_say(run, name)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_file_of_holes_takes_no_memory(run: Path, wrapped: bool) -> None:
    path = run / "p-1" / "events.bin"
    fields = list(HEADER.unpack(path.read_bytes()[: HEADER.size]))
    chunks = 1 << 17
    fields[5:7], fields[8:10] = [4096 + 8 * chunks, chunks], [chunks * 4096, chunks]
    table = np.arange(1, chunks + 1, dtype="<u8")
    with open(path, "wb") as file:
        file.write(HEADER.pack(*fields).ljust(4096, b"\0") + (table[::-1] if wrapped else table).tobytes())
        file.truncate(40 << 30)
    must_say(run, "events.bin")


def frame(text: bytes) -> bytes:
    body = zlib.compress(text, 9)
    return journal.HEADER.pack(journal.RECORD_MARK, len(body), zlib.crc32(body)) + body


def deep(opening: bytes, closing: bytes, depth: int) -> bytes:
    return b'["meta",{"a":' + opening * depth + b"0" + closing * depth + b"}]"


def hex_digits(size: int) -> bytes:
    return os.urandom(size // 2).hex().encode()


def crowd(item: bytes) -> bytes:
    """Millions of small things, with some that does not deflate so that the whole does not deflate too well."""
    return frame(b'["meta",{"a":[%b"%b"]}]' % (item * (3 << 20), hex_digits(120_000)))


BOMBS: dict[str, Callable[[], bytes]] = {
    "zip": lambda: frame(b'["meta",{"a":"%b"}]' % (b"x" * (100 << 20))),
    "zips": lambda: 80 * frame(b'["file",{"id":1,"path":"a","text":"%b"}]' % (b"x" * (8 << 20) + hex_digits(120_000))),
    "lists": lambda: crowd(b"[],"),
    "dicts": lambda: crowd(b"{},"),
    "strings": lambda: crowd(b'"ab",'),
    "nested lists": lambda: frame(deep(b"[", b"]", 100_000)),
    "nested dicts": lambda: frame(deep(b'{"a":', b"}", 100_000)),
    "long number": lambda: frame(b'["meta",{"value_bytes":%b}]' % (b"9" * 100_000)),
    "sums": lambda: (journal.RECORD_MARK + struct.pack("<II", 1 << 20, 0)) * 300_000,
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("alone", [False, True])
def test_a_bomb_in_the_catalogue_does_not_go_off(run: Path, bomb: str, alone: bool) -> None:
    path = run / "p-1" / "catalog.journal"
    original = path.read_bytes()
    path.write_bytes(BOMBS[bomb]() if alone else original[: len(original) // 2] + BOMBS[bomb]() + original)
    must_say(run, "catalog.journal")


def test_what_was_not_covered_many_times_is_listed_once(run: Path) -> None:
    record = frame(b'["not_covered",{"what":"a","why":"b","site":0}]')
    others = (frame(b'["not_covered",{"what":"%d","why":"b","site":0}]' % number) for number in range(20_000))
    with open(run / "p-1" / "catalog.journal", "ab") as file:
        file.write(record * 20_000 + b"".join(others))
    with within_bounds():
        trace = examine(run)
    assert len(trace.not_covered) == 20_001


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8)
    | st.sampled_from([0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 10**400, 1e308, float("inf"), "1", "nan"]),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)  # fmt: skip


@FUZZ
@given(data=st.data())
def test_records_that_hold_anything(sound: Path, run: Path, data: st.DataObject) -> None:
    fresh(sound, run)
    path = run / "p-1" / "catalog.journal"
    records: list[list[Any]] = [
        list(record) for record in journal.read_records(path.read_bytes()) if not isinstance(record, journal.Damage)
    ]
    by_kind = {kind: at for at, (kind, _) in enumerate(records)}
    for _ in range(data.draw(st.integers(1, 3))):
        at = by_kind[data.draw(st.sampled_from(sorted(by_kind)))]
        fields: Any = records[at][1]
        key = data.draw(st.sampled_from(sorted(fields)))
        if isinstance(fields[key], list) and fields[key] and data.draw(st.booleans()):
            fields, key = fields[key], data.draw(st.integers(0, len(fields[key]) - 1))
            if isinstance(fields[key], list) and fields[key]:
                fields, key = fields[key], data.draw(st.integers(0, len(fields[key]) - 1))
        fields[key] = data.draw(JSON)
    path.write_bytes(b"".join(frame(json.dumps(record).encode()) for record in records))
    survives(run)


def test_ids_that_do_not_exist_are_not_named(run: Path) -> None:
    path = run / "p-1" / "events.bin"
    data = bytearray(path.read_bytes())
    rows = np.frombuffer(data, Trace(run).events.dtype, EVENTS, len(data) - EVENTS * 104)
    rows["tensor"] = rows["shape"] = 0xFFFF_FFFF
    rows["step"] = 2**64 - 1
    rows["dtype"] = 255
    path.write_bytes(data)
    process = examine(run).processes[0]
    bad = next(iter(process.bad_rows()))
    assert process.tensor(bad["tensor"]) is None
    assert process.shape_of(bad) is None and process.step_of(bad) is None


@FUZZ
@given(content=st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_run_json_may_hold_anything(run: Path, content: bytes) -> None:
    (run / run_folder.META_FILE).write_bytes(content)
    assert survives(run) is not None


@FUZZ
@given(data=st.data())
def test_run_json_may_hold_wrong_types(run: Path, data: st.DataObject) -> None:
    fields: dict[str, Any] = {"version": 1, "program": ["a"], "started": 1.0, "pid": 1, "ended": {"time": 2.0}}
    fields[data.draw(st.sampled_from(sorted(fields)))] = data.draw(JSON)
    fields["ended"] = data.draw(st.dictionaries(st.sampled_from(["time", "exit", "signal"]), JSON))
    (run / run_folder.META_FILE).write_text(json.dumps(fields))
    assert survives(run) is not None


def test_links_that_go_round_are_not_followed(run: Path) -> None:
    (run / "p-3").symlink_to(run)
    (run / "p-4").symlink_to("p-4")
    (run / "p-5").symlink_to("absent")
    (run / "p-1" / "loop").symlink_to(run)
    (run / "p-6").touch()
    (run / run_folder.META_FILE).unlink()
    (run / run_folder.META_FILE).symlink_to(run_folder.META_FILE)
    must_say(run)


@pytest.mark.parametrize("content", [b"[" * 3_000_000, b'{"a":' * 700_000, b"9" * 3_000_000, b" " * 8_000_000])
def test_a_long_run_json_costs_little(run: Path, content: bytes) -> None:
    (run / run_folder.META_FILE).write_bytes(content)
    with within_bounds():
        assert survives(run) is not None


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name in ("empty", "file", "absent"):
        with pytest.raises(SleuthError, match=name):
            open_trace(tmp_path / name, logdir=str(tmp_path))
