"""One tensor as a line of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tensorsleuth.model.rows import EventFlag
from tensorsleuth.page import ids
from tensorsleuth.page.events import event_at
from tensorsleuth.page.opened import OpenRun
from tensorsleuth.trace.tensor_event import TensorEvent

COUNTS = {"nan": "nan", "negInf": "neg_inf", "posInf": "pos_inf", "neg": "neg", "zero": "zero", "pos": "pos"}


def tensor_rows(opened: OpenRun, places: Iterable[int]) -> list[dict[str, Any]]:
    return [tensor_row(opened, int(place)) for place in places]


def tensor_row(opened: OpenRun, place: int) -> dict[str, Any]:
    """A TensorRow of types.ts."""
    table, event = opened.table, event_at(opened, place)
    op, row, step = event.op, event.row, int(opened.table.step[place])
    return {
        "id": table.id(place),
        "op": ids.of_op(op),
        "type": op.type,
        "name": event.name,
        "layer": op.layer,
        "graph": op.graph,
        "step": step if step >= 0 else None,
        "epoch": event.epoch,
        "batch": event.batch,
        "iteration": event.iteration,
        "dtype": event.dtype,
        "shape": list(event.shape) if event.shape is not None else None,
        "elements": elements(event),
        "health": health(event),
        "gradient": op.differentiates is not None,
        "variable": opened.variables.of(event),
        "place": opened.sources.place(op.file, op.line, op.function),
        "lane": table.lanes.all[int(table.lane[place])].id,
        "time": float(table.time[place]),
        "kept": bool(row["flags"] & EventFlag.VALUE) if row is not None else False,
    }


def elements(event: TensorEvent) -> int:
    """How many; from its counts where its shape was not recorded."""
    if event.shape is not None:
        return min(math.prod(event.shape), 1 << 53)
    return sum(int(event.row[name]) for name in COUNTS.values()) if event.row is not None else 0


def health(event: TensorEvent) -> dict[str, Any]:
    """A Health of types.ts."""
    told = event.health
    counts = {name: int(told[column]) for name, column in COUNTS.items()}
    statistics = {name: finite(told[name]) for name in ("min", "max", "mean", "std")}
    first = int(told["first_bad"])
    return {"bad": event.bad, **counts, **statistics, "firstBad": first if event.bad and first >= 0 else None}


def finite(number: float) -> float | None:
    """A number that JSON can hold."""
    return float(number) if math.isfinite(number) else None
