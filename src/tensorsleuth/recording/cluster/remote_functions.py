"""Functions that this process runs on others, as a coordinator does: finds whether they can be watched there.

A watched copy contains our ops. A process that records into the same run knows them, and writes its rows into its own
folder under our numbers. Any other process would reject the copy, so it gets the original function.
"""

from __future__ import annotations

import re
from pathlib import Path

from tensorsleuth.recording.cluster.remote_probes import RemoteProber
from tensorsleuth.recording.functions.probes import InPlaceProber, Prober
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.process.remote_rows import SENDS_FILE, serves_file
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.run_folder import SHARED_FOLDER

JOB_PREFIX = "/job:"  # in the device names of other processes
_TASK = re.compile(r"/job:(\w+)/.*?task:(\d+)")


class RemoteTasks:
    """Finds the task of a device in another process, and whether that process is watched."""

    def __init__(self, folder: Folder, catalog: CatalogWriter, native: bool) -> None:
        self._folder = folder if isinstance(folder, Path) and native else None  # None for the guard, which is in memory
        self._catalog = catalog
        self._tasks: dict[str, tuple[str, int] | None] = {}
        self._watched: dict[tuple[str, int], bool] = {}

    def task(self, device: str | None) -> tuple[str, int] | None:
        """Return the task that a device belongs to, if it is in another process."""
        if not device or JOB_PREFIX not in device:
            return None
        if device not in self._tasks:
            found = _TASK.search(device)
            task = (found.group(1), int(found.group(2))) if found is not None else None
            self._tasks[device] = task if task not in (None, tf.own_task(), ("localhost", 0)) else None
        return self._tasks[device]

    def is_watched(self, task: tuple[str, int]) -> bool:
        """Return whether that process records into our run. If not, list it as not covered."""
        known = self._watched.get(task)
        if known is None:
            known = self._watched[task] = self._serves(task)
            if not known:
                why = "that process is not recorded into this run"
                what = f"the inside of functions that run on {task[0]} {task[1]}"
                self._catalog.not_covered(what, why, unseen=True)
        return known

    @property
    def prober(self) -> Prober:
        """Return the prober for functions that run there. As here, it acts after the graph optimizer."""
        assert self._folder is not None
        return RemoteProber(self._folder.parent / SHARED_FOLDER) if tf.optimizer_is_on() else InPlaceProber()

    def _serves(self, task: tuple[str, int]) -> bool:
        if self._folder is None or not any(self._folder.parent.glob(f"p-*/{serves_file(*task)}")):
            return False
        (self._folder / SENDS_FILE).touch()
        return True
