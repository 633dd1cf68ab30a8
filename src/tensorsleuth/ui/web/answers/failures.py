"""Calls that raised, and the tensor to show for each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import FailedCall
from tensorsleuth.trace.dataflow.calls import NO_PLACES
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.ui.web.run.nearest_tensor import latest_of_line
from tensorsleuth.ui.web.run.open_run import OpenRun

MAX_FAILURES = 200  # examined


def failed_places(opened: OpenRun) -> Array:
    """Return a tensor for each call that raised: its last one, else one of its inputs, else one of its line."""
    found = [
        place for number, asked in enumerate(opened.table.process_indexes) for place in _places(opened, asked, number)
    ]
    return np.array(sorted(set(found), key=lambda place: float(opened.table.time[place])), np.int64)


def _places(opened: OpenRun, process_index: ProcessIndex, number: int) -> Iterator[int]:
    for failure in process_index.process.catalogue.failures[:MAX_FAILURES]:
        event, op = _last_event(process_index, failure), process_index.op_index.eager(failure.op)
        if event is not None:
            yield int(opened.table.starts[number]) + event
        elif op is not None and (near := latest_of_line(opened, number, op.file, op.line)) is not None:
            yield near


def _last_event(process_index: ProcessIndex, failed_call: FailedCall) -> int | None:
    calls = process_index.call_graphs.calls
    inside = calls.event_numbers(failed_call.call) if failed_call.call >= 0 else NO_PLACES
    if len(inside):
        return int(inside[-1])
    given = (calls.event_of(uid) for uid in reversed(calls.inputs(failed_call.call)))
    return next((event for event in given if event is not None), None)
