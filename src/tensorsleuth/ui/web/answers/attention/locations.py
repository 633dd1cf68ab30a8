"""The place of a statistic in the program: its line, and its tensor at a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.web.run.open_run import OpenRun


def series_place(opened: OpenRun, process: int, series: WatchedSeries) -> dict[str, Any] | None:
    """Return the line of a series; for a variable, the first line that reads it."""
    own = opened.sources.place(series.file, series.line, None)
    places = (opened.sources.place(op.file, op.line, op.function) for op in _ops(opened, process, series))
    return own or next((place for place in places if place is not None), None)


def series_tensor(opened: OpenRun, process: int, series: WatchedSeries, step: int) -> str | None:
    """Return the id of the tensor at a step, or None if it has no row there."""
    firsts = {op.first_tensor for op in _ops(opened, process, series)}
    here = np.flatnonzero((opened.table.step == step) & (opened.table.kind > 0))
    here = here[opened.table.process_of(here) == process]
    found = here[np.isin(opened.table.column("tensor", here), list(firsts))]
    return opened.table.id(int(found[0])) if len(found) else None


def _ops(opened: OpenRun, process: int, series: WatchedSeries) -> list[Op]:
    if series.op is not None:
        return opened.cache("ops by name", None, lambda: _by_name(opened)).get((process, series.op), [])
    return opened.cache("reads", None, lambda: _reads(opened)).get(series.name, [])


def _by_name(opened: OpenRun) -> dict[tuple[int, str], list[Op]]:
    found: dict[tuple[int, str], list[Op]] = {}
    for op in opened.table.ops:
        found.setdefault((op.process, op.name), []).append(op)
    return found


def _reads(opened: OpenRun) -> dict[str, list[Op]]:
    """Return the ops that read each variable."""
    return {one.name.removesuffix(":0"): list(one.reads) for one in opened.trace.variables()}
