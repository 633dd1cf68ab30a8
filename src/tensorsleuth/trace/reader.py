"""Opens a recorded run for queries. Needs no TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import TraceError
from tensorsleuth.core.layout.rows import EVENT
from tensorsleuth.core.series import LogMessage
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo
from tensorsleuth.trace.process.remote_rows import SENDS_FILE, open_processes
from tensorsleuth.trace.query.query import Queries
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WATCHED_FILE, WatchedSeries, select_series, trouble_in
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.storage.versions import format_mismatch, version_message


@dataclass(frozen=True, slots=True)
class BadTensor:
    """A tensor that held a NaN or an infinity."""

    process: ProcessTrace
    row: Any
    tensor: TensorInfo | None

    @property
    def step(self) -> int | None:
        return self.process.step_of(self.row)


class Trace(Queries):
    """A run: the rows and catalogues of all its processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._other_format = format_mismatch(
            run_folder.META_FILE, run_folder.read_meta(path)
        )  # does not cache `meta`, which the end of the program changes
        folders = sorted(folder for folder in path.glob("p-*") if folder.is_dir())
        self.processes = _open_processes(folders) if self._other_format is None else []

    @cached_property
    def meta(self) -> dict[str, Any]:
        """Return the content of run.json: program, times, how it ended."""
        return run_folder.read_meta(self.path)

    @cached_property
    def events(self) -> Array:
        """Return one row for each computed tensor as a NumPy array, process by process."""
        arrays = [process.events for process in self.processes]
        if len(arrays) == 1:
            return arrays[0]
        return np.concatenate(arrays) if arrays else np.empty(0, EVENT)

    @property
    def trouble(self) -> list[str]:
        """Return messages about the parts of the trace that could not be read."""
        if self._other_format is not None:
            return [version_message(str(self.path), self.meta, [self._other_format])]
        return [line for process in self.processes for line in [*process.trouble, *_watched_trouble(process)]]

    @property
    def not_covered(self) -> list[dict[str, Any]]:
        """Return the parts of the program that were not recorded, and why."""
        return [entry for process in self.processes for entry in process.catalogue.not_covered]

    def watched(self, name: str | None = None, kind: str | None = None) -> list[WatchedSeries]:
        """Return the watched series (docs/watch.md), each with its measures at each step.

        `kind` is tensor, variable, gradient, update, or point (a value that the program watched under its own name).
        """
        return select_series(self.processes, name, kind)

    def inside(self) -> LayerStatistics:
        """Return the statistics from inside the model (docs/inside.md), of the first process that has any."""
        found = [*(LayerStatistics(process) for process in self.processes), LayerStatistics(None)]
        return next((one for one in found if one), found[0])

    def logs(self) -> list[LogMessage]:
        """Return the messages that the program logged with `tensorsleuth.log`, oldest first."""
        messages = [message for process in self.processes for message in process.catalogue.logs]
        return sorted(messages, key=lambda message: message.time)

    def bad(self) -> Iterator[BadTensor]:
        """Yield the tensors that held a NaN or an infinity, oldest first."""
        for process in self.processes:
            for row in process.bad_rows():
                yield BadTensor(process, row, process.tensor(row["tensor"]))


def _open_processes(folders: list[Path]) -> list[ProcessTrace]:
    """Open each process. Rows of other processes matter only if one has sent functions to them."""
    has_senders = any((folder / SENDS_FILE).exists() for folder in folders)
    return open_processes(folders) if has_senders else [ProcessTrace(folder) for folder in folders]


def _watched_trouble(process: ProcessTrace) -> list[str]:
    return trouble_in(process) if (process.folder / WATCHED_FILE).exists() else []


def open_trace(run: str | os.PathLike[str] | None = None, logdir: str | None = None) -> Trace:
    """Open a run by its path, its name in the log directory or the start of its name; without one, the latest."""
    path = run_folder.find(run_folder.logdir(logdir), os.fspath(run) if run is not None else None)
    if not any(path.glob("p-*")) and not (path / run_folder.META_FILE).is_file():
        raise TraceError(f"{path} holds no recorded process. Record one: sleuth run program.py")
    return Trace(path)
