"""The time of a finding, by the clock of the rows: it separates what came before from what came after."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.trace.process.process import ProcessTrace

_END_KINDS = [int(kind) for kind in (CallKind.OP, CallKind.ENDED, CallKind.FAILED)]


def origin_time(process: ProcessTrace, finding: Finding) -> int | None:
    """Return when its tensor was computed; for a replayed or failed call, when the call ended. None if unknown."""
    end = call_end_time(process, finding)
    made = int(process.events["time"][finding.tensor]) if finding.tensor is not None and finding.chain else None
    return min((at for at in (made, end) if at is not None), default=None)


def call_end_time(process: ProcessTrace, finding: Finding) -> int | None:
    """Return when the call of a finding ended; None if it did not end, as in a crash."""
    if finding.call is None:
        return None
    rows = process.calls[process.calls["call"] == np.uint64(finding.call)]
    over = rows[np.isin(rows["kind"], _END_KINDS)]
    return int((over["time"] + over["duration"]).max()) if len(over) else None
