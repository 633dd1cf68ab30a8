"""The lanes of the timeline: a thread of Python, a device that ran graphs, a worker of a coordinator."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import DEVICE_SHIFT, EventKind
from tensorsleuth.diagnose.cluster import task_name
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.reader import Trace

MAX_LANES = 1 << 15
FIRST_ROWS = 1000  # the oldest row is among them
_TASK = re.compile(r"/job:(\w+)/replica:\d+/task:(\d+)/device:(.+)")


class TimelineLane(NamedTuple):
    """A thread or a device that computed tensors."""

    id: str
    name: str
    kind: str  # thread, device or worker


class Lanes:
    """Lanes are numbered in the order in which they occur."""

    def __init__(self, trace: Trace) -> None:
        self._processes = trace.processes
        self._several = len(trace.processes) > 1
        self._numbers: dict[tuple[int, bool, int], int] = {}
        self._known = [np.full(MAX_LANES * 4, -1, np.int16) for _ in trace.processes]  # numbers, by process and key
        self.all: list[TimelineLane] = []
        self.begin = min((time for one in trace.processes for time in _first_times(one)), default=0)

    def seconds(self, process: int, times: Array) -> Array:
        """Return times of a process's rows as seconds since the run began."""
        return (times.astype(np.float64) - float(self.begin - self._processes[process].epoch)) / 1e9

    def clock(self, process: int, seconds: float) -> int:
        """Return a time as the process's rows have it."""
        return int(seconds * 1e9) + self.begin - self._processes[process].epoch

    def of_rows(self, process: int, rows: Array) -> Array:
        """Return the lane number of each row."""
        devices = rows["flags"] >> DEVICE_SHIFT
        on_device = (rows["kind"] == EventKind.GRAPH) & (devices > 0)
        keys = np.where(on_device, devices.astype(np.int64) + MAX_LANES * 2, rows["thread"])
        known = self._known[process]
        new = np.unique(keys[known[keys] < 0])
        known[new] = [self._number(process, key >= MAX_LANES * 2, key % (MAX_LANES * 2)) for key in new.tolist()]
        return np.asarray(known[keys])

    def _number(self, process: int, device: bool, which: int) -> int:
        key = process, device, which
        if key not in self._numbers and len(self.all) < MAX_LANES - 1:
            self._numbers[key] = len(self.all)
            self.all.append(self._device(process, which) if device else self._thread(process, which))
        return self._numbers.get(key, 0)

    def _thread(self, process: int, which: int) -> TimelineLane:
        return TimelineLane(f"{process}.t{which}", self._named(process, f"thread {which}"), "thread")

    def _device(self, process: int, which: int) -> TimelineLane:
        devices: Any = self._processes[process].catalogue.meta.get("devices")
        device = str(devices[which - 1]) if isinstance(devices, list) and which <= len(devices) else f"device {which}"
        task = _TASK.fullmatch(device)
        if task is not None and task[1] != "localhost":
            return TimelineLane(f"{process}.d{which}", f"{task[1]} {task[2]}, {task[3]}", "worker")
        return TimelineLane(f"{process}.d{which}", self._named(process, device.rpartition("device:")[2]), "device")

    def _named(self, process: int, what: str) -> str:
        if not self._several:
            return what
        return f"{process_name(self._processes[process], process)}, {what}"


def process_name(process: ProcessTrace, number: int) -> str:
    """Return `worker 1 of 2`, or the pid if it is no worker."""
    pid = process.catalogue.meta.get("pid")
    return task_name(process) or (f"process {pid}" if isinstance(pid, int) else f"process {number}")


def _first_times(process: ProcessTrace) -> list[int]:
    """Return when its first rows were written. Threads run in parallel, so the very first need not be the oldest."""
    some = (rows["time"][:FIRST_ROWS] for rows in (process.events, process.calls))
    return [process.epoch + int(times.min()) for times in some if len(times)]
