"""Calls that raised: which tensor to show for each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Failure
from tensorsleuth.trace.dataflow.calls import NOWHERE
from tensorsleuth.trace.query.process_index import Asked
from tensorsleuth.ui.web.run.nearest_tensor import latest_of_line
from tensorsleuth.ui.web.run.open_run import OpenRun

MOST = 200  # failures that are looked at


def failed_places(opened: OpenRun) -> Array:
    """For each call that raised, the place of its last tensor; else of one that went in, or that its line computed."""
    found = [place for number, asked in enumerate(opened.table.asked) for place in _places(opened, asked, number)]
    return np.array(sorted(set(found), key=lambda place: float(opened.table.time[place])), np.int64)


def _places(opened: OpenRun, asked: Asked, number: int) -> Iterator[int]:
    for failure in asked.process.catalogue.failures[:MOST]:
        event, op = _last_event(asked, failure), asked.index.eager(failure.op)
        if event is not None:
            yield int(opened.table.starts[number]) + event
        elif op is not None and (near := latest_of_line(opened, number, op.file, op.line)) is not None:
            yield near


def _last_event(asked: Asked, failure: Failure) -> int | None:
    calls = asked.moments.calls
    inside = calls.places(failure.call) if failure.call >= 0 else NOWHERE
    if len(inside):
        return int(inside[-1])
    given = (calls.event_of(uid) for uid in reversed(calls.inputs(failure.call)))
    return next((event for event in given if event is not None), None)
