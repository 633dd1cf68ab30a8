"""Tensors as rows of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.columns import column_values
from tensorsleuth.ui.web.run.events import event_at
from tensorsleuth.ui.web.run.open_run import OpenRun

_COUNTS = {"nan": "nan", "negInf": "neg_inf", "posInf": "pos_inf", "neg": "neg", "zero": "zero", "pos": "pos"}
_STATISTICS = ("min", "max", "mean", "std")
_COLUMNS = (*_COUNTS.values(), *_STATISTICS, "elements", "dtype", "bad", "first_bad", "iteration")
_LARGEST = 1 << 53  # the largest integer that JSON holds exactly


def tensor_row(opened: OpenRun, place: int) -> dict[str, Any]:
    """Return a TensorRow (web/src/api/types.ts)."""
    return tensor_rows(opened, [place])[0]


def tensor_rows(opened: OpenRun, places: Iterable[int]) -> list[dict[str, Any]]:
    """Return the rows of several tensors, read a column at a time."""
    some = np.array(list(places), np.int64)
    columns = {name: column_values(opened.table, name, some).tolist() for name in _COLUMNS} if len(some) else {}
    known = [{name: column[at] for name, column in columns.items()} for at in range(len(some))]
    return [_row(opened, place, fields) for place, fields in zip(some.tolist(), known, strict=True)]


def _row(opened: OpenRun, place: int, known: dict[str, Any]) -> dict[str, Any]:
    table, event = opened.table, event_at(opened, place)
    op, step = event.op, int(opened.table.step[place])
    return {
        "id": table.id(place),
        "op": ids.op_id(op),
        "type": op.type,
        "name": event.name,
        "layer": op.layer,
        "graph": op.graph,
        "step": step if step >= 0 else None,
        "epoch": event.epoch,
        "batch": event.batch,
        "iteration": known["iteration"] if known["iteration"] >= 0 else None,
        "dtype": known["dtype"],
        "shape": list(event.shape) if event.shape is not None else None,
        "elements": _elements(known),
        "health": _health(known),
        "gradient": op.differentiates is not None,
        "variable": opened.variables.name_of(event),
        "place": opened.sources.place(op.file, op.line, op.function),
        "lane": table.lanes.all[int(table.lane[place])].id,
        "time": float(table.time[place]),
        "kept": bool(table.flags[place] & EventFlag.VALUE),
    }


def _elements(known: dict[str, Any]) -> int:
    """Return the number of elements; from its counts if its shape was not recorded."""
    if known["elements"] >= 0:
        return min(int(known["elements"]), _LARGEST)
    return sum(max(known[name], 0) for name in _COUNTS.values())


def _health(known: dict[str, Any]) -> dict[str, Any]:
    """Return a Health (web/src/api/types.ts)."""
    counts = {name: known[column] for name, column in _COUNTS.items()}
    statistics = {name: known[name] if math.isfinite(known[name]) else None for name in _STATISTICS}
    first = min(known["first_bad"], _LARGEST) if known["bad"] and known["first_bad"] >= 0 else None
    return {"bad": known["bad"], **counts, **statistics, "firstBad": first}
