"""Finds the eager op that made a tensor without a row: an integer or a boolean."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import uids_of


class UnrecordedMakers:
    """TensorFlow numbers eager tensors as it makes them, so the recorded tensors around one tell when it was made."""

    def __init__(self, call_graphs: CallGraphs) -> None:
        self._graphs = call_graphs
        process = call_graphs.process
        rows = process.events[process.events["kind"] == EventKind.EAGER]
        uids = uids_of(rows)
        order = np.argsort(uids, kind="stable")
        self._uids, self._calls = uids[order], rows["step"][order]
        calls = process.calls
        made = {op.id for op in process.catalogue.eager.values() if op.outputs and op.instance < 0}
        ops = calls[(calls["kind"] == CallKind.OP) & np.isin(calls["op"], [*made])]
        self._silent: Array = np.setdiff1d(ops["call"], rows["step"])  # calls of ops whose outputs have no rows

    def maker(self, uid: int, consumer: int) -> int | None:
        """Return the last call that may have made a tensor before another call took it."""
        at = int(np.searchsorted(self._uids, uid))
        if not 0 < at < len(self._uids):
            return None
        begin, end = int(self._calls[at - 1]), min(int(self._calls[at]), consumer)
        found = self._silent[(self._silent >= begin) & (self._silent < end)]
        return int(found[-1]) if len(found) else None
