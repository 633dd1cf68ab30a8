"""The tensor to show for a violation, a failed call, or a finding about a line, which have none of their own."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.run.open_run import OpenRun


def latest_of_line(opened: OpenRun, process: int, file: str | None, line: int | None) -> int | None:
    """Return the last tensor that a line computed."""
    asked = opened.table.process_indexes[process]
    return _latest(opened, process, _of_line(opened, process, file, line, np.arange(len(asked.process.events))))


def latest_before(opened: OpenRun, process: int, file: str | None, line: int | None, clock: int) -> int | None:
    """Return the last tensor before a time of the trace's clock, of a line if one is given."""
    before = np.flatnonzero(opened.table.process_indexes[process].process.events["time"] <= np.uint64(clock))
    near = _of_line(opened, process, file, line, before)
    return _latest(opened, process, near if len(near) else before)


def _of_line(opened: OpenRun, process: int, file: str | None, line: int | None, events: Array) -> Array:
    asked = opened.table.process_indexes[process]
    ops = [at for at, op in enumerate(asked.op_index.ops) if op.file is not None and (op.file, op.line) == (file, line)]
    return np.asarray(events[np.isin(asked.op_numbers[events], ops)]) if ops else events[:0]


def _latest(opened: OpenRun, process: int, events: Array) -> int | None:
    times = opened.table.process_indexes[process].process.events["time"][events]
    return int(opened.table.starts[process]) + int(events[np.argmax(times)]) if len(events) else None
