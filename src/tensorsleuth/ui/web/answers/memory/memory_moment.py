"""One moment of a process's memory, with tensors to select."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.memory.account import Holding, HoldingGroup
from tensorsleuth.analyze.memory.labels import MemoryLabel
from tensorsleuth.analyze.memory.report import PEAK, growth_json
from tensorsleuth.analyze.memory.report import MemoryReport as Moment
from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.run.ids import make_id
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer

MAX_GROUPS, MAX_TENSORS, MAX_OPS = 100, 60, 4


def moment_json(opened: OpenRun, number: int, moment: Moment, by: str) -> Answer:
    """Return a MemoryMoment (web/src/api/types.ts)."""
    account, groups, shown = moment.account, moment.groups(by), moment.holdings[:MAX_TENSORS]
    born = {id(one.label): one.born for one in moment.holdings}
    wanted = [(one.largest.tensor, born[id(one.largest)]) for one in groups[:MAX_GROUPS]]
    found = _events(opened, number, [*wanted, *((one.label.tensor, one.born) for one in shown)])
    return {
        "seconds": float(opened.table.lanes.seconds(number, np.array([moment.time]))[0]),
        "step": moment.step,
        "peak": moment.moment == PEAK,
        "known": bool(account.samples_with_tensors[account.sample_index(moment.time)]),
        "resident": int(moment.sample["resident"]),
        "growth": growth_json(moment.parts),
        "running": moment.running[:MAX_OPS],
        "by": by,
        "groups": [_group(opened, one, by, at) for one, at in zip(groups, found[: len(wanted)], strict=False)],
        "moreGroups": len(groups) - len(wanted),
        "tensors": [_holding(opened, one, at, moment) for one, at in zip(shown, found[len(wanted) :], strict=True)],
        "total": len(moment.holdings),
        "bytes": sum(one.bytes for one in moment.holdings),
    }


def _group(opened: OpenRun, holding_group: HoldingGroup, by: str, tensor: str | None) -> dict[str, Any]:
    said = {"name": holding_group.name, "bytes": holding_group.bytes, "count": holding_group.count, "tensor": tensor}
    largest = {"largest": holding_group.largest.name, "shape": _shape(holding_group.largest)}
    return said | largest | {"place": _place(opened, holding_group.largest) if by == "line" else None}


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


def _shape(memory_label: MemoryLabel) -> list[int] | None:
    return list(memory_label.shape) if memory_label.shape is not None else None


def _place(opened: OpenRun, memory_label: MemoryLabel) -> dict[str, Any] | None:
    return opened.sources.place(memory_label.file, memory_label.line, None)


def _events(opened: OpenRun, number: int, wanted: list[tuple[int, int]]) -> list[str | None]:
    """Return for each tensor and time its row: the first that is not earlier, else the last."""
    events = opened.trace.processes[number].events
    rows = np.flatnonzero(np.isin(events["tensor"], np.array([tensor for tensor, _ in wanted], np.uint32)))
    tensors, times = events["tensor"][rows].astype(np.int64), events["time"][rows].astype(np.int64)
    order = np.lexsort((times, tensors))
    rows, tensors, times = rows[order], tensors[order], times[order]
    found = [_nearest(tensors, times, tensor, time) for tensor, time in wanted]
    return [make_id(number, int(rows[at])) if at is not None else None for at in found]


def _nearest(tensors: Array, times: Array, tensor: int, time: int) -> int | None:
    first, last = (int(np.searchsorted(tensors, tensor, side)) for side in ("left", "right"))
    return min(first + int(np.searchsorted(times[first:last], time)), last - 1) if first < last else None
