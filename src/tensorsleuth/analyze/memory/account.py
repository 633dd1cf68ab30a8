"""The account of one process: resident memory over time, and the tensors that were alive at any time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.buffer_rows import RowRange
from tensorsleuth.analyze.memory.labels import KINDS, MemoryLabel, MemoryLabels
from tensorsleuth.analyze.memory.lifetimes import BufferLifetime, BufferLifetimes
from tensorsleuth.analyze.memory.onednn_pool import OneDnnPool
from tensorsleuth.analyze.memory.running_ops import OpInProgress, running_at
from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.trace.query.process_index import ProcessIndex

QUIET_SAMPLES = 5  # earlier samples, which show the use without the running ops

GROUP_KEYS: dict[str, Callable[[MemoryLabel], str]] = {
    "kind": lambda label: label.kind,
    "layer": lambda label: label.layer or "no layer",
    "line": lambda label: label.place or "no line of the program",
    "op": lambda label: label.op,
    "dtype": lambda label: label.dtype,
}


@dataclass(frozen=True, slots=True)
class Holding:
    """A buffer that is in use at a moment."""

    label: MemoryLabel
    bytes: int
    born: int
    died: int


@dataclass(frozen=True, slots=True)
class HoldingGroup:
    """Buffers with something in common."""

    name: str
    bytes: int
    count: int
    largest: MemoryLabel


@dataclass(frozen=True, slots=True)
class GrowthParts:
    """The parts of the memory that a process took since recording began, in bytes."""

    growth: int  # measured, without memory mapped from files
    tensors: int
    kept: int  # freed, but kept by malloc or TensorFlow's pool
    own: int  # of Python and TensorFlow: in use between steps, but in no tensor
    working: int  # of the ops that run at that moment: in use since they began, but in no tensor
    rest: int

    @property
    def explained(self) -> float:
        """The share of the growth that is attributed."""
        return 1 - self.rest / self.growth if self.growth > 0 else 1.0


class MemoryAccount:
    """The memory of one process over time."""

    def __init__(self, process_index: ProcessIndex, row_range: RowRange | None = None) -> None:
        """Read all rows, or a part of them."""
        self.process_index = process_index
        self.process = process_index.process
        self.samples = process_index.process.memory
        self._row_range = row_range

    @cached_property
    def lifetimes(self) -> BufferLifetimes:
        return BufferLifetimes(self.process_index, self._row_range)

    @cached_property
    def samples_with_tensors(self) -> Array:
        """Return which samples have known tensors: all, if all rows were read."""
        if self._row_range is None or self._row_range.whole:
            return np.ones(len(self.samples), bool)
        times = np.sort(self.process.buffers["time"])
        first, last = times[self._row_range.begin], times[self._row_range.end - 1]
        return np.asarray((self.samples["time"] >= first) & (self.samples["time"] <= last))

    @cached_property
    def labels(self) -> MemoryLabels:
        return MemoryLabels(self.lifetimes)

    @cached_property
    def _born(self) -> Array:
        return np.array([life.born for life in self.lifetimes.all], np.int64)

    @cached_property
    def _died(self) -> Array:
        return np.array([life.died for life in self.lifetimes.all], np.int64)

    @cached_property
    def _bytes(self) -> Array:
        return np.array([life.bytes for life in self.lifetimes.all], np.int64)

    @property
    def start(self) -> int:
        """The time at which recording began, in nanoseconds as in rows."""
        return int(self.samples["time"][0]) if len(self.samples) else 0

    def tensors_at(self, times: Array, which: Array | None = None) -> Array:
        """Return the bytes of tensors at each of these times; `which` selects lives."""
        born, died, size = (
            column if which is None else column[which] for column in (self._born, self._died, self._bytes)
        )
        return _running_sums(born, size, times) - _running_sums(died, size, times)

    def by_kind(self, times: Array) -> dict[str, Array]:
        """Return the bytes of tensors for each kind."""
        kinds = np.array(self.labels.kinds(self.lifetimes.all), object)
        return {kind: self.tensors_at(times, np.flatnonzero(kinds == kind)) for kind in KINDS}

    def alive(self, time: int) -> list[BufferLifetime]:
        at = np.flatnonzero((self._born <= time) & (time < self._died))
        return [self.lifetimes.all[number] for number in at.tolist()]

    def holdings(self, time: int) -> list[Holding]:
        """Return the holdings in use, the largest first."""
        found = [Holding(self.labels.label_of(life), life.bytes, life.born, life.died) for life in self.alive(time)]
        return sorted(found, key=lambda one: -one.bytes)

    # ---- measured

    @cached_property
    def peak(self) -> int:
        """The time of most memory, without mapped files: of the samples within 2 % of it, the one with most tensors."""
        anonymous = self.samples["anonymous"].astype(np.int64)
        least = anonymous[0] + 0.98 * (anonymous.max() - anonymous[0])
        near = np.flatnonzero((anonymous >= least) & self.samples_with_tensors)
        near = near if len(near) else np.array([anonymous.argmax()])
        most = self.tensors_at(self.samples["time"][near].astype(np.int64))
        return int(self.samples["time"][near[int(most.argmax())]])

    def sample_index(self, time: int) -> int:
        """Return the number of the last sample that is not after a time."""
        at = int(np.searchsorted(self.samples["time"], np.uint64(max(time, 0)), "right")) - 1
        return max(at, 0)

    def growth_parts(self, time: int) -> GrowthParts:
        """Return the parts of the growth up to that time."""
        at = self.sample_index(time)
        growth = int(self._growth[at])
        tensors = sum(life.bytes for life in self.alive(time) if not life.preexisting)
        kept = min(max(int(self._kept[at]), 0), max(growth - tensors, 0))
        own = min(self._own(at), max(growth - tensors - kept, 0))
        working = min(self._working(at, time), max(growth - tensors - kept - own, 0))
        return GrowthParts(growth, tensors, kept, own, working, max(growth - tensors - kept - own - working, 0))

    def running_ops(self, time: int) -> list[OpInProgress]:
        """Return the ops that were running."""
        return running_at(self.lifetimes, time)

    def _working(self, at: int, time: int) -> int:
        """Return the use outside tensors beyond that before the running ops began."""
        running = self.running_ops(time)
        if not running:
            return 0
        begun = self.sample_index(running[0].begun)  # others that ended then may have used as much: the least of a few
        before = self._unknown[max(begun - QUIET_SAMPLES, 0) : max(begun, 1)].min()
        return max(int(self._unknown[at] - before), 0)

    @cached_property
    def _growth(self) -> Array:
        anonymous = self.samples["anonymous"].astype(np.int64)
        return np.asarray(anonymous - anonymous[0])

    @cached_property
    def _kept(self) -> Array:
        kept = self.samples["kept"].astype(np.int64)
        return np.asarray(kept - kept[0] + self._kept_in_pool)

    @property
    def uses_pool(self) -> bool:
        """Return whether TensorFlow took the memory of tensors from its own pool."""
        return bool(self.process.catalogue.meta.get("pool"))

    @cached_property
    def _kept_in_pool(self) -> Array:
        """At each sample, the bytes that held tensors before and hold none now."""
        if not self.uses_pool:
            return np.zeros(len(self.samples), np.int64)
        one_dnn_pool = OneDnnPool(life for life in self.lifetimes.all if not life.preexisting)
        times = self.samples["time"].astype(np.int64)
        return np.asarray(np.maximum(one_dnn_pool.bytes_used(times) - self._tensors_since(times), 0))

    @cached_property
    def _unknown(self) -> Array:
        """At each sample, the bytes in use outside of tensors."""
        times = self.samples["time"].astype(np.int64)
        return np.asarray(self._growth - self._kept - self._tensors_since(times))

    def _tensors_since(self, times: Array) -> Array:
        """Return the bytes of tensors made since recording began."""
        return self.tensors_at(times, np.flatnonzero([not life.preexisting for life in self.lifetimes.all]))

    def _own(self, at: int) -> int:
        """Return the use outside tensors before this sample while no function ran, the least of a few samples."""
        quiet = np.flatnonzero(self._quiet_samples[: at + 1])[-QUIET_SAMPLES:]
        return max(int(self._unknown[quiet].min()), 0) if len(quiet) else 0

    @cached_property
    def _quiet_samples(self) -> Array:
        """Return which samples were taken while no function ran, and just after malloc reported its use."""
        calls = self.process.calls
        ended = calls[calls["kind"] == CallKind.ENDED]
        begun = np.sort(ended["time"])
        over = np.sort(ended["time"] + ended["duration"])
        times = self.samples["time"]
        running = np.searchsorted(begun, times, "right") > np.searchsorted(over, times, "right")
        fresh = np.diff(self.samples["allocated"].astype(np.int64), prepend=-1) != 0
        return np.asarray(fresh & ~running & self.samples_with_tensors)


def group_holdings(holdings: list[Holding], by: str) -> list[HoldingGroup]:
    """Return groups of holdings, the largest first."""
    members: dict[str, list[Holding]] = {}
    for holding in holdings:
        members.setdefault(GROUP_KEYS[by](holding.label), []).append(holding)
    groups = [
        HoldingGroup(name, sum(one.bytes for one in own), len(own), own[0].label) for name, own in members.items()
    ]
    return sorted(groups, key=lambda group: -group.bytes)


def _running_sums(times: Array, amounts: Array, asked: Array) -> Array:
    order = np.argsort(times, kind="stable")
    sums = np.concatenate([[0], np.cumsum(amounts[order])])
    return np.asarray(sums[np.searchsorted(times[order], asked, "right")])
