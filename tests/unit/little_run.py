"""A run of four steps in the files that a recording writes, small enough that every answer about it is known.

Each step calls train_step(x): Mul, Softmax, Log, Mean, the gradient of Log, a loop of three iterations. From step 2 on
the Log makes two infinities, and the loss that Python gets is bad.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CALL, EVENT, NO_INDEX, SHAPE, VALUE, CallKind, EventFlag, EventKind
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.synthetic import _write_ring

PROGRAM = '''import tensorflow as tf


def train_step(x):
    """Two
    lines."""
    scores = tf.nn.softmax(x * x)
    likely = tf.math.log(scores)
    loss = tf.reduce_mean(likely)
    while more():
        loss = loss + loss
    return loss
'''
FLOAT = 1
STEPS = 4
LOOK = EventFlag.LOOKED | EventFlag.COUNTED | EventFlag.RANGED | EventFlag.MOMENTS
MUL, SOFTMAX, LOG, MEAN, GRADIENT, LOOP = range(6)
PER_STEP = 9  # five ops, three iterations, what Python got
MILLI = 1_000_000  # nanoseconds


def write(
    path: Path,
    program: Path,
    values: bool = False,
    changes: Mapping[int, Mapping[str, Any]] = {},
    closed: bool = True,
) -> Path:
    """`changes` are fields of events, by their numbers; not `closed`: the program was cut short."""
    program.write_text(PROGRAM)
    folder = path / "p-1700000000000000000-77"
    folder.mkdir(parents=True)
    meta = {"version": 1, "program": [str(program), "--fast"], "cwd": "/", "started": 1.7e9, "pid": 77}
    (path / run_folder.META_FILE).write_text(
        json.dumps(meta | {"ended": {"time": 1.7e9 + 2.5, "exit": 0, "signal": None}})
    )
    op, first, body, returned = _catalogue(folder, str(program), values, closed)
    events = np.concatenate([_step(step, first, body, returned) for step in range(STEPS)])
    for number, fields in changes.items():
        for name, value in fields.items():
            events[name][number] = value
    calls = np.concatenate([_calls(step, op) for step in range(STEPS)])
    alarm = int(np.flatnonzero(events["flags"] & EventFlag.BAD)[:1].sum()) + 1
    if values:
        events["flags"][SOFTMAX] |= EventFlag.VALUE
        _values(folder)
    for name, rows in (("events", events), ("calls", calls), ("shapes", _shapes())):
        _write_ring(folder / f"{name}.bin", rows.dtype, len(rows), alarm, partial(_between, rows))
    return path


def _between(rows: Array, begin: int, end: int) -> Array:
    return rows[begin:end]


def _catalogue(folder: Path, program: str, values: bool, closed: bool) -> tuple[int, int, int, int]:
    """Ids: of the eager op that calls, of the first tensors of train_step, of the loop's body, of what is returned."""
    catalog = CatalogWriter(folder, lambda path: path == program)
    mode = "FULL_TENSOR" if values else "FULL_NUMERICS"
    catalog.meta({"version": 1, "pid": 77, "tensorflow": "2.21", "settings": {"mode": mode}, "value_bytes": 1 << 20})
    catalog.meta({"devices": ["/device:CPU:0"], "steps": STEPS})
    site = {line: catalog.site([(program, 20, "<module>"), (program, line, "train_step"), ("/lib/ops.py", 9, "op")])
            for line in (7, 8, 9, 11, 20)}  # fmt: skip

    def node(name: str, kind: str, inputs: list[list[int]], line: int, forward: Any = None, **attrs: Any) -> list[Any]:
        return [name, kind, "/device:CPU:0", inputs, [], attrs, site[line], forward, [FLOAT]]

    body = catalog.function(
        {"name": "while_body_9", "graph": 2, "arguments": ["a"], "argument_dtypes": [FLOAT], "captures": {},
         "nodes": [node("add", "AddV2", [[-1, 0], [-1, 0]], 11)], "returns": [[0, 0]], "kind": "plain", "tensors": 2}
    )  # fmt: skip
    nodes = [
        node("net/hidden/mul", "Mul", [[-1, 0], [-1, 0]], 7),
        node("net/hidden/Softmax", "Softmax", [[MUL, 0]], 7),
        node("Log", "Log", [[SOFTMAX, 0]], 8),
        node("Mean", "Mean", [[LOG, 0]], 9),
        node("gradients/Log_grad/Reciprocal", "Reciprocal", [[SOFTMAX, 0]], 8, [1, "Log", "Log", site[8]]),
        node("while", "While", [[MEAN, 0]], 11, body="while_body_9"),
    ]
    function = catalog.function(
        {"name": "__inference_train_step_12", "graph": 1, "arguments": ["x"], "argument_dtypes": [FLOAT],
         "captures": {}, "nodes": nodes, "returns": [[LOOP, 0]], "kind": "train", "tensors": 7}
    )  # fmt: skip
    instance, first = catalog.instance({"function": function, "parent": -1, "node": -1}, 7)
    _, inside = catalog.instance({"function": body, "parent": instance, "node": LOOP}, 2)
    call = {"type": "__inference_train_step_12", "site": site[20], "forward": -1, "instance": instance}
    op, returned = catalog.eager_op(call, 1)
    catalog.not_covered("tf.py_function", "Python runs it", site[9])
    if closed:
        catalog.meta({"ended": 1.7e9 + 2.5})
    catalog.close()
    return op, first, inside, returned


def _row(time: int, step: int, tensor: int, shape: int, low: float, high: float, **more: Any) -> Array:
    row = np.zeros(1, EVENT)
    counts = {"neg": 0, "zero": 0, "pos": 6 if shape == 2 else 1}
    fields = {"time": time, "step": step, "tensor": tensor, "shape": shape, "thread": 3, "dtype": FLOAT}
    known = {"kind": EventKind.GRAPH, "flags": LOOK | 1 << 16, "min": low, "max": high, "mean": (low + high) / 2}
    for name, value in {**fields, **known, **counts, "std": 0.5, "first_bad": NO_INDEX, **more}.items():
        row[name] = value
    return row


def _step(step: int, first: int, body: int, returned: int) -> Array:
    bad, time, run = step >= 2, (10 * step + 1) * MILLI, 100 + step
    spoiled = {"flags": LOOK | 1 << 16 | EventFlag.BAD}
    log = {**spoiled, "neg_inf": 2, "pos": 0, "neg": 4, "first_bad": 4} if bad else {"pos": 0, "neg": 6}
    loss = {**spoiled, "neg_inf": 1, "pos": 0, "first_bad": 0, "min": np.inf, "max": -np.inf} if bad else {}
    ops = [
        _row(time, run, first + 1 + MUL, 2, 1.0 + step, 4.0 + step),
        _row(
            time + 1000,
            run,
            first + 1 + SOFTMAX,
            2,
            0.0 if bad else 0.25,
            0.75,
            **({"zero": 2, "pos": 4} if bad else {}),
        ),
        _row(time + 2000, run, first + 1 + LOG, 2, -1.5, -0.25, **log),
        _row(time + 3000, run, first + 1 + MEAN, 1, -0.5 - step, -0.5 - step, **loss),
        _row(time + 4000, run, first + 1 + GRADIENT, 2, 1.25, 4.0),
    ]
    loop = [_row(time + 5000 + at, run, body + 1, 1, -1.0, -1.0, iteration=at, frame=5, **loss) for at in range(3)]
    given = _row(time + 9000, 1 + step, returned, 0, 0, 0, kind=EventKind.EAGER, flags=0, thread=1, iteration=50 + step)
    return np.concatenate([*ops, *loop, given])


def _calls(step: int, op: int) -> Array:
    rows = np.zeros(3, CALL)
    rows["time"], rows["call"], rows["step"], rows["op"], rows["thread"] = 10 * step * MILLI, 1 + step, step, op, 1
    rows["kind"] = (CallKind.FUNCTION, CallKind.JOIN, CallKind.ENDED)
    rows["tf_step"][1], rows["duration"][2] = 100 + step, 5 * MILLI
    return rows


def _shapes() -> Array:
    rows = np.zeros(2, SHAPE)
    rows["rank"], rows["kind"] = (0, 2), 1
    rows["dims"][1, :2] = 2, 3
    return rows


def _values(folder: Path) -> None:
    """The Softmax of step 0."""
    data = np.array([[0.25, 0.5, np.nan], [np.inf, 0.75, -1.0]], np.float32).tobytes()
    (folder / "values.bin").write_bytes(data)
    rows = np.zeros(1, VALUE)
    rows["event"], rows["size"], rows["kind"] = SOFTMAX, len(data), 1
    _write_ring(folder / "value_rows.bin", VALUE, 1, 0, partial(_between, rows))
