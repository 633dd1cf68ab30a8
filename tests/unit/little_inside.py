"""What a recording sees inside of the model of the little run, in the files that it writes: every number is known."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.unit.inside_run import shades
from tests.unit.little_run import FLOAT, _between

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import INSIDE_ROW, VALUE, EventKind, MeasureFlag
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, HEADER
from tensorsleuth.trace.storage import journal
from tensorsleuth.trace.storage.synthetic import _write_ring

ATTENTION, OUTPUT, QUERY, KEY, UPDATE, IDS = range(1, 7)
STEPS = (0, 1, 3)
HEADS, SIZE = 3, 3
INT64, MATRIX = 9, 2  # a dtype, and the shape [2, 3] of the little run
TOKENS = np.array([[5, 6, 7], [8, 9, 5]], np.int64)
SERIES: tuple[dict[str, Any], ...] = (
    {"id": ATTENTION, "kind": "attention", "name": "net/hidden", "op": "net/hidden/Softmax", "by": "replay"},
    {"id": OUTPUT, "kind": "output", "name": "net/hidden", "op": "net/hidden/Softmax"},
    {"id": QUERY, "kind": "gradient", "name": "query"},
    {"id": KEY, "kind": "gradient", "name": "key"},
    {"id": UPDATE, "kind": "update", "name": "query"},
    {"id": IDS, "kind": "input", "name": "train_step/input_ids"},
)


def weights(step: int) -> Array:
    """[samples, heads, queries, keys]: rows sum to one."""
    drawn = np.random.default_rng(step).random((2, HEADS, SIZE, SIZE))
    return np.asarray(drawn / drawn.sum(-1, keepdims=True)).astype(np.float32)


def statistics(step: int) -> Array:
    """A row a number, a column a head."""
    return np.arange(len(HEAD_STATISTICS) * HEADS, dtype=np.float64).reshape(-1, HEADS) / 100 + step


def kept(step: int) -> bytes:
    header = np.zeros(1, HEADER)
    sizes = {
        "version": 1,
        "numbers": len(HEAD_STATISTICS),
        "samples": 2,
        "heads": HEADS,
        "heads_kept": HEADS,
        "batch": 2,
    }
    blocks = {"rows": SIZE, "columns": SIZE, "kept_rows": SIZE, "kept_columns": SIZE, "row_block": 1, "column_block": 1}
    for name, value in {**sizes, **blocks}.items():
        header[name] = value
    return header.tobytes() + statistics(step).tobytes() + shades(weights(step)).tobytes()


def add(run: Path) -> Path:
    """Write it beside the rest of a little run."""
    (folder,) = run.glob("p-*")
    catalog = journal.Journal(folder / "catalog.journal", 1 << 24)
    for one in SERIES:
        catalog.append("series", {"file": None, "line": None, "of": "inside", "trains": True, **one})
    catalog.close()
    rows: list[Array] = []
    places: list[tuple[int, int, int, int]] = []
    values = b""
    for step in STEPS:
        for row, data in _looks(step):
            if data:
                places.append((len(rows), len(values), len(data), 1))
                values += data
            rows.append(row)
    _ring(folder / "inside.bin", np.concatenate(rows))
    _ring(folder / "inside_value_rows.bin", np.array(places, VALUE))
    (folder / "inside_values.bin").write_bytes(values)
    return run


def _ring(path: Path, rows: Array) -> None:
    _write_ring(path, rows.dtype, len(rows), 0, partial(_between, rows))


def _looks(step: int) -> list[tuple[Array, bytes]]:
    """The rows of a step: at step 1 the layer holds a NaN; the key's gradient is looked at from step 1 on."""
    output = {"norm": 2.0 + step, "sum": 3.0, "zero": 3, "before": 1.0, "change": 4.0, "nan": int(step == 1)}
    looks = [
        (_row(ATTENTION, step, MeasureFlag.ATTENTION | MeasureFlag.NORM), kept(step)),
        (_row(OUTPUT, step, MeasureFlag.NORM | MeasureFlag.UNITS, **output), b""),
        (_row(QUERY, step, MeasureFlag.NORM, norm=10.0**-step), b""),
        (_row(UPDATE, step, MeasureFlag.NORM | MeasureFlag.COMPARED, norm=0.5, before=10.0, change=0.5), b""),
        (_row(IDS, step, MeasureFlag.VALUE, dtype=INT64, kept=2), TOKENS.tobytes()),
    ]
    return looks + ([(_row(KEY, step, MeasureFlag.NORM, norm=7.0), b"")] if step else [])


def _row(series: int, step: int, flags: int, **more: Any) -> Array:
    row = np.zeros(1, INSIDE_ROW)
    fields = {"time": 1 + step, "step": step, "series": series, "shape": MATRIX, "dtype": FLOAT, "elements": 6}
    for name, value in {**fields, "kind": EventKind.GRAPH, "flags": flags, **more}.items():
        row[name] = value
    return row
