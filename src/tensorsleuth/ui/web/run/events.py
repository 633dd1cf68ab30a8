"""One tensor of the table as a TensorEvent of the query API."""

from __future__ import annotations

from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.ui.web.run.open_run import OpenRun


def event_at(opened: OpenRun, place: int) -> TensorEvent:
    """Return the tensor at a row of the table."""
    process, number = opened.table.locate(place)
    asked, op, row = opened.table.process_indexes[process], opened.table.op_of(place), opened.table.row(place)
    return TensorEvent(
        asked, op, int(row["tensor"]) - op.first_tensor if op.first_tensor >= 0 else 0, row, number=number
    )
