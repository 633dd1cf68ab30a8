"""Makes a run of any length without a program, as a recording would write it, for benchmarks and tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.ring_header import HEADER, MAGIC
from tensorsleuth.core.layout.rows import CALL, EVENT, NO_INDEX, SHAPE, CallKind, EventFlag, EventKind
from tensorsleuth.core.ops.reductions import EXAMPLE_STEP
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.size_plan import CHUNK_ROWS, make_plan

PID = 4242
NODES = 1000  # of the function, each with one output: so a step writes as many events
DTYPE = 1  # float32
STEP_NS = 1_000_000
SHAPES = ((), (32,), (32, 64), (64, 64))
BLOCK_ROWS = 16 * CHUNK_ROWS  # rows that are made at a time
HEALTHY = EventFlag.LOOKED | EventFlag.COUNTED | EventFlag.RANGED
CALLS_A_STEP = (CallKind.FUNCTION, CallKind.JOIN, CallKind.ENDED)


def write(path: Path, events: int, bad: int = 100) -> Path:
    """Make a run at `path` with that many events, `bad` of them (all in the second half) with a NaN."""
    folder = path / f"p-{time.time_ns()}-{PID}"
    folder.mkdir(parents=True)
    meta = {"version": 1, "program": ["synthetic.py"], "cwd": "/", "python": "python3", "started": 1.7e9}
    ended = {"time": 1.7e9 + events / NODES * STEP_NS / 1e9, "exit": 0, "signal": None}
    (path / run_folder.META_FILE).write_text(json.dumps(meta | {"pid": PID, "ended": ended}))
    steps = -(-events // NODES)
    op, first = _write_catalogue(folder, steps)
    bad_rows = np.unique(np.linspace(events // 2, events - 1, min(bad, events)).astype(np.int64))
    alarm = int(bad_rows[0]) + 1 if len(bad_rows) else 0
    _write_ring(folder / "events.bin", EVENT, events, alarm, lambda a, b: _events(a, b, first, bad_rows))
    _write_ring(folder / "calls.bin", CALL, steps * len(CALLS_A_STEP), 0, lambda a, b: _calls(a, b, op))
    _write_ring(folder / "shapes.bin", SHAPE, len(SHAPES), 0, _shapes)
    return path


def _write_catalogue(folder: Path, steps: int) -> tuple[int, int]:
    """Write the catalogue; return the ids of the eager op that calls the function, and of its first tensor."""
    catalog = CatalogWriter(folder, lambda path: path == __file__)
    catalog.meta({"version": 1, "pid": PID, "argv": ["synthetic.py"], "settings": {"mode": "FULL_HEALTH"}})
    sites = [catalog.site([(__file__, line, "train"), ("/tf/ops.py", line, "op")]) for line in range(1, 60)]
    nodes = [
        [f"layer_{at // 10}/{EXAMPLE_STEP[at % 10]}_{at}", EXAMPLE_STEP[at % 10], "/device:CPU:0",
         [[at - 1, 0]], [], {"T": DTYPE}, sites[at % len(sites)], None, [DTYPE]]
        for at in range(NODES)
    ]  # fmt: skip
    function = {
        "name": "train_step",
        "graph": 1,
        "arguments": ["x"],
        "argument_dtypes": [DTYPE],
        "captures": {},
    }
    number = catalog.function(
        function | {"nodes": nodes, "returns": [[NODES - 1, 0]], "kind": "train", "tensors": NODES + 1}
    )
    instance, first = catalog.instance({"function": number, "parent": -1, "node": -1}, NODES + 1)
    call = {"type": "train_step", "site": sites[0], "forward": -1, "instance": instance}
    op, _ = catalog.eager_op(call, 1)
    catalog.meta({"ended": 1.7e9, "steps": steps})
    catalog.close()
    return op, first


def _events(begin: int, end: int, first: int, bad_rows: Array) -> Array:
    number = np.arange(begin, end)
    rows = np.zeros(end - begin, EVENT)
    rows["time"] = number * (STEP_NS // NODES)
    rows["step"] = number // NODES + 1
    rows["tensor"] = first + 1 + number % NODES  # number 0 is the argument
    rows["shape"] = number % NODES % len(SHAPES) + 1
    rows["thread"] = number % 2 + 1
    rows["dtype"] = DTYPE
    rows["kind"] = EventKind.GRAPH
    rows["flags"] = HEALTHY
    rows["neg"], rows["pos"] = 30, 34
    rows["min"], rows["max"] = -1.5, 2.5
    rows["first_bad"] = NO_INDEX
    hit = bad_rows[(bad_rows >= begin) & (bad_rows < end)] - begin
    rows["flags"][hit] = HEALTHY | EventFlag.BAD
    rows["nan"][hit] = 2
    rows["first_bad"][hit] = 7
    return rows


def _calls(begin: int, end: int, op: int) -> Array:
    number = np.arange(begin, end)
    rows = np.zeros(end - begin, CALL)
    rows["step"] = number // len(CALLS_A_STEP)
    rows["time"] = rows["step"] * STEP_NS
    rows["call"] = rows["tf_step"] = rows["step"] + 1
    rows["op"] = op
    rows["thread"] = 1
    rows["kind"] = np.array(CALLS_A_STEP)[number % len(CALLS_A_STEP)]
    rows["duration"] = STEP_NS
    return rows


def _shapes(begin: int, end: int) -> Array:
    rows = np.zeros(end - begin, SHAPE)
    for row, shape in zip(rows, SHAPES[begin:end], strict=True):
        row["rank"] = len(shape)
        row["dims"][: len(shape)] = shape
    rows["kind"] = 1
    return rows


def _write_ring(path: Path, dtype: np.dtype[np.void], rows: int, alarm: int, make: Callable[[int, int], Array]) -> None:
    chunks = -(-rows // CHUNK_ROWS)
    max_chunks = max(chunks, make_plan(None, False).events.chunks)
    offset = -(-(4096 + 8 * max_chunks) // 4096) * 4096
    numbers = (1, dtype.itemsize, CHUNK_ROWS, PID, offset, max_chunks, 0, rows, chunks, 0, alarm, 0, 1)
    with open(path, "wb") as file:
        file.write(HEADER.pack(MAGIC, *numbers).ljust(4096, b"\0"))
        file.write(np.arange(1, chunks + 1, dtype="<u8").tobytes().ljust(offset - 4096, b"\0"))
        for begin in range(0, rows, BLOCK_ROWS):
            file.write(make(begin, min(begin + BLOCK_ROWS, rows)).tobytes())
