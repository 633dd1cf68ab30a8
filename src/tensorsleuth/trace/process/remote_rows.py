"""Rows of functions that one process ran for another, shown as rows of the process that sent the functions.

A coordinator's function is watched in the worker that runs it. The rows lie in that worker's folder, but their
numbers refer to the coordinator's catalogue; the worker has no functions of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import DEVICE_SHIFT, EVENT, CallKind, EventFlag
from tensorsleuth.trace.process.process import ProcessTrace

SENDS_FILE = "sends"  # a process writes this file once it has sent a watched function to another
_SERVES_FILE = re.compile(r"serves-(\w+)-(\d+)")


def serves_file(job: str, index: int) -> str:
    """Return the name of the file that a process writes if it runs functions for others."""
    return f"serves-{job}-{index}"


def open_processes(folders: list[Path]) -> list[ProcessTrace]:
    """Open the processes of a run. Rows of a worker become part of its coordinator."""
    senders = [folder for folder in folders if (folder / SENDS_FILE).exists()]
    if len(senders) != 1:
        return [ProcessTrace(folder) for folder in folders]
    servers = [WorkerTrace(folder) for folder in folders if folder not in senders and any(folder.glob("serves-*"))]
    own = [server for server in servers if not server.has_functions]
    others = [folder for folder in folders if folder not in [*senders, *(server.folder for server in own)]]
    return [CoordinatorTrace(senders[0], own), *(ProcessTrace(folder) for folder in others)]


class WorkerTrace(ProcessTrace):
    """A process that runs functions for others."""

    @property
    def has_functions(self) -> bool:
        """Return whether it runs functions of its own. If so, the numbers in its rows are its own too."""
        return bool(self.catalogue.instances)

    @property
    def device_prefix(self) -> str:
        """Return the prefix of the names of its devices."""
        assert isinstance(self.folder, Path)
        for file in self.folder.glob("serves-*"):
            found = _SERVES_FILE.fullmatch(file.name)
            if found is not None:
                return f"/job:{found.group(1)}/replica:0/task:{found.group(2)}/"
        return "/job:?/"


class CoordinatorTrace(ProcessTrace):
    """A process, together with the rows that its workers recorded."""

    def __init__(self, folder: Path, worker_traces: list[WorkerTrace]) -> None:
        super().__init__(folder)
        self._workers = worker_traces
        self._parts = [ProcessTrace(folder), *worker_traces]

    @property
    def trouble(self) -> list[str]:
        return [line for part in self._parts for line in part.trouble]

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        """Return, in order of time, the part that each event comes from and its number in that part."""
        sizes = [len(part.events) for part in self._parts]
        times = np.concatenate([part.events["time"] for part in self._parts])
        order = np.argsort(times, kind="stable")
        parts = np.repeat(np.arange(len(sizes)), sizes)
        return parts[order], np.concatenate([np.arange(size) for size in sizes])[order]

    @cached_property
    def events(self) -> Array:
        events = np.empty(len(self._order[0]), EVENT)
        for number, part in enumerate(self._parts):
            here = self._order[0] == number
            events[here] = self._renumbered_events(number, part)[self._order[1][here]]
        return events

    def _renumbered_events(self, number: int, part: ProcessTrace) -> Array:
        """Return a part's events, with this process's numbers for shapes and devices."""
        if not isinstance(part, WorkerTrace):
            return part.events
        events = np.array(part.events)
        events["shape"][events["shape"] > 0] += sum(len(other.shapes) - 1 for other in self._parts[:number])
        events["flags"] = events["flags"] & ((1 << DEVICE_SHIFT) - 1) | (self._device(part) << DEVICE_SHIFT)
        return events

    def _device(self, worker_trace: WorkerTrace) -> int:
        devices = self.catalogue.meta.get("devices")
        names = [str(name) for name in devices] if isinstance(devices, list) else []
        return next((number for number, name in enumerate(names, 1) if name.startswith(worker_trace.device_prefix)), 0)

    @cached_property
    def calls(self) -> Array:
        joins = [server.calls[server.calls["kind"] == CallKind.JOIN] for server in self._workers]
        return np.concatenate([self._parts[0].calls, *joins])

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        return [(), *(shape for part in self._parts for shape in part.shapes[1:])]

    @property
    def event_count(self) -> int:
        return sum(part.event_count for part in self._parts)

    @property
    def lost_events(self) -> int:
        return sum(part.lost_events for part in self._parts)

    @property
    def has_bad(self) -> bool:
        return any(part.has_bad for part in self._parts)

    def bad_rows(self) -> Iterator[Any]:
        yield from self.events[(self.events["flags"] & EventFlag.BAD != 0) & (self.events["kind"] != 0)]

    def value(self, index: int) -> Array | None:
        if not 0 <= index < len(self.events):
            return None
        parts, places = self._order
        return self._parts[int(parts[index])].value(int(places[index]))
