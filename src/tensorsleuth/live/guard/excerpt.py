"""The part of a trace that concerns one alarm. It is small, so the analysis is quick while the program waits."""

from __future__ import annotations

import os
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Catalogue
from tensorsleuth.core.layout.rows import NO_UID, CallKind, EventFlag, EventKind
from tensorsleuth.trace.dataflow.observed_tensor import uids_of
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.storage.files import Folder

Described = tuple[Catalogue, list[str]]


class GrowingCatalogue:
    """Reads the catalogue of a growing trace, and reads it again after it has grown."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._size = -1
        self._described: Described = Catalogue(), []

    def latest(self) -> Described:
        size = os.stat(self._folder / "catalog.journal").st_size
        if size != self._size:
            self._size, self._described = size, ProcessTrace(self._folder)._read_catalogue()
        return self._described


class TraceExcerpt(ProcessTrace):
    """The rows of some calls, and of the ops that computed their inputs.

    If `since` is set, the excerpt also holds bad rows after this time that belong to no call: those of datasets, and of
    a call that was cut short.
    """

    def __init__(
        self,
        folder: Folder,
        growing_catalogue: GrowingCatalogue,
        calls: set[int],
        uids: set[int],
        since: int | None = None,
    ) -> None:
        super().__init__(folder)
        self._catalogues = growing_catalogue
        self._call_numbers = calls
        self._uids = np.array(sorted(uids), np.uint64)
        self._since = since

    def with_datasets(self, since: int) -> TraceExcerpt:
        """Return the excerpt with the bad rows of datasets since then."""
        return TraceExcerpt(self.folder, self._catalogues, self._call_numbers, set(self._uids.tolist()), since)

    def _read_catalogue(self) -> Described:
        return self._catalogues.latest()

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        events, calls = self._array("events"), self._array("calls")
        eager = events["kind"] == EventKind.EAGER
        uids = uids_of(events)
        given = eager & np.isin(uids, np.concatenate([self._uids, self._taken(calls)]))
        wanted = np.unique([*self._call_numbers, *events["step"][given].tolist()]).astype(np.uint64)
        kept_calls = calls[np.isin(calls["call"], wanted) | (calls["kind"] == CallKind.BATCH)]
        steps = kept_calls["tf_step"][kept_calls["kind"] == CallKind.JOIN]
        joined = calls["tf_step"][calls["kind"] == CallKind.JOIN]
        stray = _stray_steps(events, joined, self._since)
        inside = ~eager & np.isin(events["step"], np.concatenate([steps, stray]))
        return events[given | inside | (eager & np.isin(events["step"], wanted))], kept_calls

    def _taken(self, calls: Array) -> Array:
        """Return the uids of all inputs of the calls, including the variables that ops read on their own."""
        rows = calls[np.isin(calls["call"], np.array(sorted(self._call_numbers), np.uint64))]
        used = np.arange(rows["inputs"].shape[1]) < rows["inputs_count"][:, None]
        taken: Array = np.unique(rows["inputs"][used])
        known: Array = taken[taken != NO_UID]
        return known

    @cached_property
    def events(self) -> Array:
        return self._rows[0]

    @cached_property
    def calls(self) -> Array:
        return self._rows[1]


def _stray_steps(events: Array, joined: Array, since: int | None) -> Array:
    """Return the step ids of bad tensors that belong to no call."""
    if since is None:
        return np.empty(0, np.uint64)
    bad = (events["flags"] & EventFlag.BAD != 0) & (events["kind"] == EventKind.GRAPH) & (events["time"] >= since)
    steps = events["step"][bad]
    return np.setdiff1d(steps[steps != 0], joined)
