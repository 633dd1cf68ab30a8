"""No number in the files of a trace decides how much memory it takes to read them."""

from __future__ import annotations

import json
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import examples
from tests.unit.test_trace_fuzz import FUZZ, frame

import tensorsleuth
from tensorsleuth.cli.main import cli
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Function, Node
from tensorsleuth.core.errors import TraceError
from tensorsleuth.core.layout.rows import BUFFER, CALL, EVENT, MEMORY, SHAPE, BufferKind, CallKind, EventFlag, EventKind
from tensorsleuth.core.ops.kinds import FEED
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.trace.series.attention import HEADER, read_sample
from tensorsleuth.trace.storage import journal, run_folder
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.synthetic import _write_ring

STEPS = 48
MORE_MEMORY = 400 << 20  # the files have 100 KB; the rest is what Python needs to import
TYPES = ("Identity", "Cast", FEED, "IteratorGetNext")
NUMBERS = (0, 1, 1 << 20, 654_311_460, (1 << 31) - 1, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)


@contextmanager
def little_memory() -> Iterator[None]:
    """Refuse an allocation of more than the process has and a bit, also of memory that is never written."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(scope="session")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose eager ops keep, cast and feed tensors, and whose sessions run ever larger graphs."""
    run = tmp_path_factory.mktemp("runs") / "leaky"
    folder = run / "p-1"
    folder.mkdir(parents=True)
    meta = {"version": 1, "program": [__file__], "cwd": "/", "started": 1.7e9, "pid": 1}
    (run / run_folder.META_FILE).write_text(
        json.dumps(meta | {"ended": {"time": 1.7e9 + 1, "exit": 0, "signal": None}})
    )
    ops = catalogue(folder)
    for name, rows in (("calls", calls([op for op, _ in ops])), ("events", events(ops)), ("buffers", buffers(ops[0]))):
        _write_ring(folder / f"{name}.bin", rows.dtype, len(rows), 0, partial(between, rows))
    for name, rows in (("shapes", shapes()), ("memory", memory())):
        _write_ring(folder / f"{name}.bin", rows.dtype, len(rows), 0, partial(between, rows))
    return run


def between(rows: Array, begin: int, end: int) -> Array:
    return rows[begin:end]


def catalogue(folder: Path) -> list[tuple[int, int]]:
    """The numbers and first tensor ids of the eager ops: of each type one, then of each step a session's run."""
    catalog = CatalogWriter(folder, lambda path: path == __file__)
    catalog.meta({"version": 1, "pid": 1, "argv": [__file__], "settings": {"mode": "FULL_HEALTH"}})
    site = catalog.site([(__file__, 1, "train")])
    called = {"site": site, "forward": -1, "instance": -1}
    ops = [catalog.eager_op(called | {"type": name}, 2) for name in TYPES]
    for step in range(STEPS):
        node = [f"add_{step}", "AddV2", "/device:CPU:0", [[-1, 0]], [], {}, site, None, [1]]
        described = {"name": f"Session.run {step}", "graph": 1, "arguments": ["x"], "argument_dtypes": [1]}
        body = {"captures": {}, "nodes": [node], "returns": [[0, 0]], "kind": "session", "tensors": 2}
        number = catalog.function(described | body)
        instance, _ = catalog.instance({"function": number, "parent": -1, "node": -1}, 2)
        ops.append(catalog.eager_op(called | {"type": "Session.run", "instance": instance}, 1))
    catalog.close()
    return ops


def calls(ops: list[int]) -> Array:
    """In each step one call of each type of op, and a session's run."""
    width = len(TYPES) + 1
    number = np.arange(STEPS * width)
    rows = np.zeros(len(number), CALL)
    rows["step"], rows["time"], rows["call"] = number // width, number * 1000, number + 1
    table = [[*ops[: len(TYPES)], ops[len(TYPES) + step]] for step in range(STEPS)]
    rows["op"], rows["thread"], rows["kind"], rows["duration"] = np.ravel(table), 1, CallKind.OP, 500
    return rows


def events(ops: list[tuple[int, int]]) -> Array:
    width = len(TYPES) + 1
    number = np.array([at for at in range(STEPS * width) if at % width < len(TYPES)])
    rows = np.zeros(len(number), EVENT)
    rows["time"], rows["step"], rows["iteration"] = number * 1000 + 100, number + 1, number + 1
    rows["tensor"] = np.array([first for _, first in ops])[number % width]
    rows["shape"], rows["thread"], rows["dtype"], rows["kind"] = 1, 1, 1, EventKind.EAGER
    rows["flags"], rows["pos"] = EventFlag.LOOKED | EventFlag.COUNTED | EventFlag.RANGED, 1 << 20
    rows["min"], rows["max"] = 1 + number, 2 + number
    return rows


def buffers(kept: tuple[int, int]) -> Array:
    number = np.arange(STEPS) * (len(TYPES) + 1)
    rows = np.zeros(STEPS, BUFFER)
    rows["time"], rows["step"], rows["iteration"] = number * 1000 + 100, number + 1, number + 1
    rows["address"], rows["bytes"], rows["tensor"] = (number + 1) << 24, 4 << 20, kept[1]
    rows["shape"], rows["thread"], rows["dtype"], rows["kind"] = 1, 1, 1, BufferKind.EAGER
    return rows


def shapes() -> Array:
    rows = np.zeros(1, SHAPE)
    rows["rank"], rows["kind"] = 2, 1
    rows["dims"][:, :2] = 1024
    return rows


def memory() -> Array:
    rows = np.zeros(STEPS, MEMORY)
    rows["time"], rows["step"], rows["kind"] = np.arange(STEPS) * 5000, np.arange(STEPS), 1
    rows["resident"] = rows["anonymous"] = rows["allocated"] = (100 + 4 * np.arange(STEPS)) << 20
    rows["available"] = 1 << 33
    return rows


QUESTIONS = (["profile", "--json"], ["memory", "--json"], ["memory", "--fit"], ["why", "--json"])


def ask(run: Path) -> set[str]:
    """Ask everything; return the causes that were found."""
    with little_memory():
        report = tensorsleuth.diagnose(tensorsleuth.open(run))
        for command, *options in QUESTIONS:
            result = CliRunner().invoke(cli, [command, str(run), *options])
            assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return {finding.cause for finding in (*report.findings, *report.notes)}


def test_a_sound_run_is_understood(leaky: Path) -> None:
    assert {"kept-tensors", "growing-graph", "fed-by-hand"} <= ask(leaky)


def rows_of(folder: Path, name: str, dtype: Any) -> Any:
    """The rows of a file, to write to."""
    path = folder / f"{name}.bin"
    count = {"calls": STEPS * (len(TYPES) + 1), "events": STEPS * len(TYPES), "shapes": 1}.get(name, STEPS)
    return np.memmap(path, dtype, "r+", path.stat().st_size - count * dtype.itemsize, (count,))


FILES = {"calls": CALL, "events": EVENT, "buffers": BUFFER, "shapes": SHAPE, "memory": MEMORY}
FIELDS = [
    (name, field) for name, dtype in FILES.items() for field in dtype.names or () if dtype[field].base.kind in "iu"
]


def change_rows(run: Path, name: str, field: str, begin: int, number: int) -> None:
    rows = rows_of(run / "p-1", name, FILES[name])
    size = rows.dtype[field].base.itemsize * 8 - (rows.dtype[field].base.kind == "i")
    rows[field][begin % len(rows) :] = number & ((1 << size) - 1)
    rows.flush()


def change_records(run: Path, kind: str, **fields: Any) -> None:
    path = run / "p-1" / "catalog.journal"
    records = [record for record in journal.read_records(path.read_bytes()) if not isinstance(record, journal.Damage)]
    changed = ([one, known | fields if one == kind else known] for one, known in records)
    path.write_bytes(b"".join(frame(json.dumps(record).encode()) for record in changed))


@pytest.mark.parametrize("number", [654_311_460, (1 << 63) - 1])
def test_a_late_step_is_one_number(leaky: Path, tmp_path: Path, number: int) -> None:
    run = Path(shutil.copytree(leaky, tmp_path / "run"))
    change_rows(run, "calls", "step", -1, number)
    ask(run)


@pytest.mark.parametrize("number", [654_311_460, 1 << 63])
def test_an_op_with_many_outputs_is_one_record(leaky: Path, tmp_path: Path, number: int) -> None:
    run = Path(shutil.copytree(leaky, tmp_path / "run"))
    change_records(run, "eager", outputs=number)
    ask(run)


@settings(FUZZ, max_examples=examples(30))
@given(
    rows=st.lists(st.tuples(st.sampled_from(FIELDS), st.integers(-3, 40), st.sampled_from(NUMBERS)), max_size=3),
    record=st.sampled_from([("eager", "first"), ("eager", "outputs"), ("instance", "first"), ("function", "tensors")]),
    number=st.sampled_from(NUMBERS),
)
def test_any_number_in_any_row(
    leaky: Path,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[tuple[str, str], int, int]],
    record: tuple[str, str],
    number: int,
) -> None:
    run = Path(shutil.copytree(leaky, tmp_path_factory.mktemp("changed") / "run"))
    for (name, field), begin, value in rows:
        change_rows(run, name, field, begin, value)
    change_records(run, record[0], **{record[1]: number})
    ask(run)
    shutil.rmtree(run.parent)


def graph(*nodes: tuple[str, list[int], list[int] | None]) -> Function:
    """A function of nodes: type, the nodes that each takes, the numbers of a constant."""
    described = [
        Node(f"n{at}", kind, "", tuple((source, 0) for source in takes), (), {"value": value}, 0, None, (3,), at)
        for at, (kind, takes, value) in enumerate(nodes)
    ]
    return Function(1, "f", 1, (), (), {}, tuple(described), (), "plain", len(nodes))


def test_numbers_that_a_graph_computes_are_few() -> None:
    constants: list[tuple[str, list[int], list[int] | None]] = [("Const", [], [number]) for number in (0, 1 << 40, 1)]
    with little_memory():
        assert fold_constants(graph(*constants, ("Range", [0, 1, 2], None)), 3) == list(range(64))


@pytest.mark.parametrize("kind", ["Pack", "Mul"])
def test_a_graph_that_doubles_its_numbers_is_left_alone(kind: str) -> None:
    doubling: list[tuple[str, list[int], list[int] | None]] = [(kind, [at] * 2, None) for at in range(19)]
    with little_memory():
        assert fold_constants(graph(("Const", [], [1 << 62]), *doubling), 19) is None


@pytest.mark.parametrize(
    "sizes",
    [
        {"heads": 4_000_000_000},
        {"heads": 1, "numbers": 1, "kept_rows": 4_000_000_000, "kept_columns": 4_000_000_000},
        {"heads": 1, "numbers": 1, "heads_kept": 4_000_000_000},
    ],
)
def test_attention_has_no_more_heads_than_numbers(sizes: dict[str, int]) -> None:
    header = np.zeros(1, HEADER)
    for name, size in sizes.items():
        header[name] = size
    with pytest.raises(TraceError, match="attention"):
        read_sample(header.tobytes() + bytes(8))
