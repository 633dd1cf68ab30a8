"""One moment of a process's memory, with the tensors to focus on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.memory.account import Group, Holding
from tensorsleuth.analyze.memory.labels import Label
from tensorsleuth.analyze.memory.report import PEAK, growth_json
from tensorsleuth.analyze.memory.report import Answer as Moment
from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.run.ids import name_of
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer

MOST_GROUPS, MOST_TENSORS, MOST_OPS = 100, 60, 4


def told(opened: OpenRun, number: int, moment: Moment, by: str) -> Answer:
    """A MemoryMoment of types.ts."""
    account, groups, shown = moment.account, moment.groups(by), moment.holdings[:MOST_TENSORS]
    born = {id(one.label): one.born for one in moment.holdings}
    wanted = [(one.largest.tensor, born[id(one.largest)]) for one in groups[:MOST_GROUPS]]
    found = _events(opened, number, [*wanted, *((one.label.tensor, one.born) for one in shown)])
    return {
        "seconds": float(opened.table.lanes.seconds(number, np.array([moment.time]))[0]),
        "step": moment.step,
        "peak": moment.asked == PEAK,
        "known": bool(account.told[account.sample(moment.time)]),
        "resident": int(moment.sample["resident"]),
        "growth": growth_json(moment.parts),
        "running": moment.running[:MOST_OPS],
        "by": by,
        "groups": [_group(opened, one, by, at) for one, at in zip(groups, found[: len(wanted)], strict=False)],
        "moreGroups": len(groups) - len(wanted),
        "tensors": [_holding(opened, one, at, moment) for one, at in zip(shown, found[len(wanted) :], strict=True)],
        "total": len(moment.holdings),
        "bytes": sum(one.bytes for one in moment.holdings),
    }


def _group(opened: OpenRun, group: Group, by: str, tensor: str | None) -> dict[str, Any]:
    said = {"name": group.name, "bytes": group.bytes, "count": group.count, "tensor": tensor}
    largest = {"largest": group.largest.name, "shape": _shape(group.largest)}
    return said | largest | {"place": _place(opened, group.largest) if by == "line" else None}


def _holding(opened: OpenRun, one: Holding, tensor: str | None, moment: Moment) -> dict[str, Any]:
    label = one.label
    return {
        "name": label.name,
        "bytes": one.bytes,
        "kind": label.kind,
        "op": label.op,
        "dtype": label.dtype,
        "shape": _shape(label),
        "layer": label.layer,
        "place": _place(opened, label),
        "age": max(moment.time - one.born, 0) / 1e9,
        "tensor": tensor,
    }


def _shape(label: Label) -> list[int] | None:
    return list(label.shape) if label.shape is not None else None


def _place(opened: OpenRun, label: Label) -> dict[str, Any] | None:
    return opened.sources.place(label.file, label.line, None)


def _events(opened: OpenRun, number: int, wanted: list[tuple[int, int]]) -> list[str | None]:
    """For each tensor and time the row in which it was seen then: the first that is not before, else the last."""
    events = opened.trace.processes[number].events
    rows = np.flatnonzero(np.isin(events["tensor"], np.array([tensor for tensor, _ in wanted], np.uint32)))
    tensors, times = events["tensor"][rows].astype(np.int64), events["time"][rows].astype(np.int64)
    order = np.lexsort((times, tensors))
    rows, tensors, times = rows[order], tensors[order], times[order]
    found = [_nearest(tensors, times, tensor, time) for tensor, time in wanted]
    return [name_of(number, int(rows[at])) if at is not None else None for at in found]


def _nearest(tensors: Array, times: Array, tensor: int, time: int) -> int | None:
    first, last = (int(np.searchsorted(tensors, tensor, side)) for side in ("left", "right"))
    return min(first + int(np.searchsorted(times[first:last], time)), last - 1) if first < last else None
