"""The values of variables as training code reads them, step by step, whatever kind of loop it is."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind, EventFlag, EventKind
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.optimizer import READ_VARIABLE
from tensorsleuth.trace.process.process import ProcessTrace

COLUMNS = ("min", "max", "neg", "zero", "pos")


class WeightReads:
    """Rows of reads by the uid of the variable, oldest first. `process.cached(WeightReads)` looks once."""

    def __init__(self, process: ProcessTrace) -> None:
        found: dict[int, list[Array]] = defaultdict(list)
        training = process.cached(TrainingGraph)
        for spot, rows in training.output_rows(training.forward_ops((READ_VARIABLE,))).items():
            handle = training.variable_handle(spot)
            if handle is not None:
                found[handle].append(rows)
        for handle, rows in _eager_reads(process):
            found[handle].append(rows)
        self._rows = {handle: _in_order(parts) for handle, parts in found.items()}

    def of(self, handle: int) -> Array | None:
        """Return the rows of a variable; None if no read of it was recorded."""
        return self._rows.get(handle)

    def stays(self, handle: int) -> bool:
        """Return whether a variable was read at least twice, and was the same in every read."""
        rows = self.of(handle)
        return rows is not None and len(rows) > 1 and is_constant(rows)


def is_constant(rows: Array) -> bool:
    """Return whether minimum, maximum and counts of signs are the same in every row."""
    return all(bool((rows[name] == rows[name][0]).all()) for name in COLUMNS)


def _eager_reads(process: ProcessTrace) -> list[tuple[int, Array]]:
    """Return the rows of what eager code read, by variable."""
    ops = [op for op in process.catalogue.eager.values() if op.type == READ_VARIABLE]
    calls, events = process.calls, process.events
    calls = calls[(calls["kind"] == CallKind.OP) & np.isin(calls["op"], [op.id for op in ops])]
    rows = events[(events["kind"] == EventKind.EAGER) & np.isin(events["tensor"], [op.first_tensor for op in ops])]
    rows = rows[rows["flags"] & EventFlag.RANGED != 0]
    order = np.argsort(calls["call"], kind="stable")
    at = np.searchsorted(calls["call"][order], rows["step"])
    known = at < len(order)
    rows, taken = rows[known], calls[order[at[known]]]
    rows, taken = rows[taken["call"] == rows["step"]], taken[taken["call"] == rows["step"]]
    handles = taken["inputs"][:, 0]
    return [(int(handle), rows[handles == handle]) for handle in np.unique(handles)]


def _in_order(parts: list[Array]) -> Array:
    rows: Array = np.concatenate(parts)
    return rows[np.argsort(rows["time"], kind="stable")]
