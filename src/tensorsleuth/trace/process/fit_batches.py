"""The epoch and batch of a Keras model that each call belongs to."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.fit_position import FitPosition, Phase
from tensorsleuth.core.layout.rows import CallKind


class BatchIndex:
    """The batches of a process, from its rows. A call belongs to the last batch that began before it."""

    def __init__(self, calls: Array) -> None:
        rows = calls[calls["kind"] == CallKind.BATCH]
        rows = rows[np.argsort(rows["call"], kind="stable")]
        self._calls = rows["call"].astype(np.int64)
        self._phases = np.where(rows["op"] <= max(Phase), rows["op"], 0).astype(np.int64)
        self.epochs = rows["inputs"][:, 0].astype(np.int64) - 1
        self.batches = rows["inputs"][:, 1].astype(np.int64) - 1

    def __len__(self) -> int:
        return len(self._calls)

    def of_calls(self, calls: Array, column: Array) -> Array:
        """Return the epoch or the batch of each call, -1 if it has none."""
        if not len(self._calls):
            return np.full(len(calls), -1, np.int64)
        at = np.searchsorted(self._calls, calls, "right") - 1
        return np.where((at >= 0) & (calls >= 0), column[at], -1)

    def of_call(self, call: int) -> FitPosition | None:
        """Return the batch of one call, or None outside of Keras's loops."""
        at = int(np.searchsorted(self._calls, call, "right")) - 1
        if at < 0 or call < 0 or not self._phases[at]:
            return None
        epoch, batch = int(self.epochs[at]), int(self.batches[at])
        return FitPosition(Phase(self._phases[at]), epoch if epoch >= 0 else None, batch if batch >= 0 else None)
