"""Makes a run that is more varied than one of `synthetic`: processes, threads, eager ops, loops."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CALL, EVENT, NO_INDEX, SHAPE, CallKind, EventFlag, EventKind
from tensorsleuth.core.ops.reductions import EXAMPLE_STEP
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.synthetic import DTYPE, HEALTHY, PID, SHAPES, _shapes, _write_ring

STRAIGHT, LOOP, EAGER = 40, 20, 40  # events of a step: ops of a function, iterations of its loop, eager ops
STEP = STRAIGHT + LOOP + EAGER
CALLS = 3 + EAGER  # rows of a step
STEP_NS = 1_000_000


def write(path: Path, events: int, processes: int = 2) -> Path:
    """Make a run of so many events in all. From the middle on, one in 1000 is bad and is returned to Python."""
    path.mkdir(parents=True)
    meta = {"version": 1, "program": ["mixed.py"], "cwd": "/", "python": "python3", "started": 1.7e9, "pid": PID}
    (path / run_folder.META_FILE).write_text(
        json.dumps(meta | {"ended": {"time": 1.7e9 + 60, "exit": 0, "signal": None}})
    )
    for number in range(processes):
        _process(path / f"p-{number + 1}-{PID + number}", events // processes, PID + number)
    return path


def _process(folder: Path, events: int, pid: int) -> None:
    folder.mkdir()
    steps = -(-events // STEP)
    function, ops, first, eager = _catalogue(folder, steps, pid)
    alarm = events // 2 + 1
    _write_ring(folder / "events.bin", EVENT, events, alarm, partial(_events, first, eager, events))
    _write_ring(folder / "calls.bin", CALL, steps * CALLS, 0, partial(_calls, function, ops))
    _write_ring(folder / "shapes.bin", SHAPE, len(SHAPES), 0, _shapes)


def _catalogue(folder: Path, steps: int, pid: int) -> tuple[int, int, int, int]:
    """Return the ids of the call of the function, the first eager op, and the first tensors of both."""
    catalog = CatalogWriter(folder, lambda path: path == __file__)
    catalog.meta({"version": 1, "pid": pid, "settings": {"mode": "FULL_HEALTH"}, "devices": ["/device:CPU:0"]})
    sites = [catalog.site([(__file__, line, "train"), ("/tf/ops.py", line, "op")]) for line in range(1, 60)]
    nodes: list[list[object]] = [
        [f"block_{at // 5}/{EXAMPLE_STEP[at % 10]}_{at}", EXAMPLE_STEP[at % 10], "/device:CPU:0",
         [[at - 1, 0]], [], {}, sites[at], None, [DTYPE]]
        for at in range(STRAIGHT + 1)
    ]  # fmt: skip
    function = {
        "name": "__inference_step_7",
        "graph": 1,
        "arguments": ["x"],
        "argument_dtypes": [DTYPE],
        "captures": {},
    }
    described = {"nodes": nodes, "returns": [[STRAIGHT, 0]], "kind": "train", "tensors": STRAIGHT + 2}
    number = catalog.function(function | described)
    instance, first = catalog.instance({"function": number, "parent": -1, "node": -1}, STRAIGHT + 2)
    call = {"type": "__inference_step_7", "site": sites[50], "forward": -1, "instance": instance}
    called = catalog.eager_op(call, 1)[0]
    ops = [
        catalog.eager_op({"type": EXAMPLE_STEP[at % 9], "site": sites[at % 59], "forward": -1, "instance": -1}, 1)
        for at in range(EAGER)
    ]
    catalog.meta({"ended": 1.7e9 + 60, "steps": steps})
    catalog.close()
    return called, ops[0][0], first, ops[0][1]


def _events(first: int, eager: int, events: int, begin: int, end: int) -> Array:
    number = np.arange(begin, end)
    at, step = number % STEP, number // STEP
    loop, in_eager = (at >= STRAIGHT) & (at < STRAIGHT + LOOP), at >= STRAIGHT + LOOP
    rows = np.zeros(end - begin, EVENT)
    rows["time"] = number * (STEP_NS // STEP)
    rows["step"] = np.where(in_eager, step * (EAGER + 1) + 2 + at - STRAIGHT - LOOP, step + 1)
    rows["tensor"] = np.where(in_eager, eager + at - STRAIGHT - LOOP, first + 1 + np.minimum(at, STRAIGHT))
    rows["iteration"] = np.where(in_eager, number, np.where(loop, at - STRAIGHT, 0))
    rows["frame"] = np.where(loop, 3, 0)
    rows["shape"] = at % len(SHAPES) + 1
    rows["thread"] = np.where(in_eager, step % 3 + 1, number % 8 + 4)
    rows["dtype"], rows["first_bad"] = DTYPE, NO_INDEX
    rows["kind"] = np.where(in_eager, EventKind.EAGER, EventKind.GRAPH)
    rows["flags"] = HEALTHY | np.where(in_eager, 0, 1 << 16)
    rows["neg"], rows["zero"], rows["pos"] = 30, number % 7, 34
    rows["min"], rows["max"] = -1.0 - np.sin(number), 2.0 + np.cos(number * 0.37)
    bad = (number > events // 2) & (number % 1000 == 0)
    rows["flags"][bad] |= np.uint32(EventFlag.BAD)
    rows["nan"][bad], rows["first_bad"][bad] = 2, 1
    return rows


def _calls(function: int, ops: int, begin: int, end: int) -> Array:
    """Return the rows of a step: the function, its step id, its end, then a chain of eager ops."""
    number = np.arange(begin, end)
    at, step = number % CALLS, number // CALLS
    eager = at >= 3
    rows = np.zeros(end - begin, CALL)
    rows["step"] = step
    rows["time"] = step * STEP_NS + np.where(eager, (STRAIGHT + LOOP + at - 3) * (STEP_NS // STEP), 0)
    rows["call"] = step * (EAGER + 1) + 1 + np.where(eager, at - 2, 0)
    rows["op"] = np.where(eager, ops + at - 3, function)
    rows["thread"] = step % 3 + 1
    rows["kind"] = np.where(eager, CallKind.OP, np.array([CallKind.FUNCTION, CallKind.JOIN, CallKind.ENDED])[at % 3])
    rows["tf_step"] = step + 1
    rows["duration"] = np.where(eager, STEP_NS // STEP, STEP_NS // 2)
    rows["inputs_count"] = eager & (at > 3)
    rows["inputs"][:, 0] = step * STEP + STRAIGHT + LOOP + at - 4
    return rows
