"""Reads the variables that a replayable call wrote, which shows growth over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorsleuth.core.modes import Mode
from tensorsleuth.recording.eager.op_sites import OpSite, OpSites
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter


class VariableReadings:
    """Records variables as reads: one op of the catalogue for each variable and call site."""

    def __init__(self, catalog: CatalogWriter, op_sites: OpSites, replay_store: ReplayStore) -> None:
        self._catalog = catalog
        self._places = op_sites
        self._keeper = replay_store
        self._ops: dict[tuple[int, int], tuple[Any, Any]] = {}

    def note(self, flight: Any, op_site: OpSite, values: Sequence[Any]) -> set[int]:
        """Record the variables that a call wrote, with these values. Return the indices of those that are bad."""
        if not values:
            return set()
        ops, firsts = self._ops_of(op_site, len(values))
        handles = np.array([handle._id for handle in flight.written.handles(flight.inputs)], np.uint64)
        return set(self._keeper.note_reads(values, ops, firsts, handles, int(Mode.FULL_HEALTH)))

    def _ops_of(self, op_site: OpSite, count: int) -> tuple[Any, Any]:
        known = self._ops.get((op_site[0], count))
        if known is None:
            fields = {
                "type": tf_variables.READ_VARIABLE,
                "site": self._places.site_of(op_site[0]),
                "forward": 0,
                "instance": -1,
            }
            made = [self._catalog.eager_op(fields, 1) for _ in range(count)]
            known = np.array([op for op, _ in made], np.uint32), np.array([first for _, first in made], np.uint32)
            self._ops[(op_site[0], count)] = known
        return known
