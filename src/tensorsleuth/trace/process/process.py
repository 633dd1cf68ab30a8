"""The recording of one process of a run."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Catalogue, EagerOp, Function, Instance, Node, Site
from tensorsleuth.core.errors import TraceError, TraceVersionError
from tensorsleuth.core.layout.rows import (
    BUFFER,
    CALL,
    DEVICE_SHIFT,
    EVENT,
    MEMORY,
    PASSED,
    SHAPE,
    VALUE,
    CallKind,
    EventFlag,
    EventKind,
)
from tensorsleuth.trace.process.buffers import all_buffers
from tensorsleuth.trace.process.fit_batches import BatchIndex
from tensorsleuth.trace.process.key_lookup import KeyLookup
from tensorsleuth.trace.process.replays import has_replays, merge_replays
from tensorsleuth.trace.process.step_calls import StepCalls
from tensorsleuth.trace.storage.catalog_reader import read_catalogue, read_first_meta
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.ring_reader import RingFile, release_pages
from tensorsleuth.trace.storage.values import decode, read_bytes
from tensorsleuth.trace.storage.versions import format_mismatch, version_message

MAX_EARLY_EVENTS = 100_000
Made = TypeVar("Made")
CATALOG_FILE = "catalog.journal"
_FILES = {"events": EVENT, "calls": CALL, "shapes": SHAPE, "memory": MEMORY, "buffers": BUFFER, "passed": PASSED}
_OPTIONAL_FILES = ("memory", "buffers", "passed")  # missing in old traces, and without the native library


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The meaning of a tensor id: an output or argument of a function's op, or an output of an eager op."""

    name: str
    type: str  # of the op that computes it
    output: int
    site: Site | None
    instance: Instance | None = None
    function: Function | None = None
    node: Node | None = None
    eager: EagerOp | None = None


class ProcessTrace:
    """The rows and the catalogue of one process."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._damage: list[str] = []
        self._meta = read_first_meta(folder / CATALOG_FILE)
        other = format_mismatch(CATALOG_FILE, self._meta)
        self._other_versions = [other] if other is not None else []
        self._is_refused = other is not None
        self._rings = {name: self._open(name, dtype) for name, dtype in _FILES.items()}

    def _open(self, name: str, dtype: np.dtype[Any]) -> RingFile | None:
        if self._is_refused or (name in _OPTIONAL_FILES and not os.path.exists(self.folder / f"{name}.bin")):
            return None
        try:
            ring = RingFile(self.folder / f"{name}.bin", dtype)
        except TraceVersionError as error:
            self._other_versions.append(str(error))
            return None
        except TraceError as error:
            self._damage.append(str(error))
            return None
        self._damage += ring.damage
        return ring

    @property
    def trouble(self) -> list[str]:
        """Return messages about the parts that are missing or damaged."""
        catalogue, damage = self._catalogue_and_damage
        seen = self._other_versions
        other = [version_message(str(self.folder), catalogue.meta, seen)] if seen else []
        return [*other, *self._damage, *damage]

    def _array(self, name: str) -> Array:
        ring = self._rings[name]
        return ring.array if ring is not None else np.empty(0, _FILES[name])

    @cached_property
    def events(self) -> Array:
        """Return one row for each computed tensor."""
        return self._calls_and_events[1]

    @cached_property
    def calls(self) -> Array:
        """Return one row for each eager call."""
        return self._calls_and_events[0]

    @cached_property
    def _calls_and_events(self) -> tuple[Array, Array]:
        calls, events = self._array("calls"), self._array("events")
        return merge_replays(calls, events) if has_replays(calls) else (calls, events)

    @cached_property
    def _cached_results(self) -> dict[Any, Any]:
        return {}

    def cached(self, make: Callable[[ProcessTrace], Made]) -> Made:
        """Return an analysis of the process, computed once and kept until `release_memory`."""
        if make not in self._cached_results:
            self._cached_results[make] = make(self)
        made: Made = self._cached_results[make]
        return made

    def release_memory(self) -> None:
        """Free the memory of the rows and of all analyses, when nobody will need them for a while."""
        self._cached_results.clear()
        for rows in self._calls_and_events:
            release_pages(rows)

    @cached_property
    def memory(self) -> Array:
        """Return one row for each sample of the process's memory, oldest first. Old traces have none."""
        return self._array("memory")

    @cached_property
    def buffers(self) -> Array:
        """Return one row for each record of a large tensor, or of a freed eager one. Old traces have none."""
        rows = self._array("buffers")
        return all_buffers(rows, self._array("events")) if self._rings["buffers"] is not None else rows

    @cached_property
    def op_ends(self) -> Array:
        """Return one row for each end of an op without outputs. Old traces have none."""
        return self._array("passed")

    @property
    def lost_buffers(self) -> int:
        """Return the number of `buffers` rows that were overwritten, or never written."""
        rings = (self._rings["buffers"], self._rings["events"])
        return sum(ring.lost_rows for ring in rings if ring is not None) if rings[0] is not None else 0

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Return the shapes. Rows refer to them by number, starting at 1."""
        rows = self._array("shapes")
        ranks = np.minimum(rows["rank"], 8).tolist()
        return [(), *(tuple(dims[:rank]) for rank, dims in zip(ranks, rows["dims"].tolist(), strict=True))]

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue that the rows refer to."""
        return self._catalogue_and_damage[0]

    @cached_property
    def _catalogue_and_damage(self) -> tuple[Catalogue, list[str]]:
        return self._read_catalogue()

    def _read_catalogue(self) -> tuple[Catalogue, list[str]]:
        if self._is_refused:
            return Catalogue(meta=self._meta), []
        return read_catalogue(self.folder / CATALOG_FILE)

    @property
    def event_count(self) -> int:
        ring = self._rings["events"]
        return len(ring) if ring is not None else 0

    @property
    def call_count(self) -> int:
        ring = self._rings["calls"]
        return len(ring) if ring is not None else 0

    @property
    def epoch(self) -> int:
        """Nanoseconds to add to a row's time to get the time of day."""
        return next((ring.epoch for ring in self._rings.values() if ring is not None), 0)

    @property
    def lost_events(self) -> int:
        """Return the number of events that were overwritten, or never written."""
        ring = self._rings["events"]
        return ring.lost_rows if ring is not None else 0

    @property
    def gap_times(self) -> list[int]:
        """Return the times at which recorded rows resume after overwritten rows, oldest first."""
        rings = (self._rings["events"], self._rings["calls"])
        return sorted(time for ring in rings if ring is not None for time in ring.gap_times())

    @property
    def has_bad(self) -> bool:
        """Return whether the process ever had a NaN or infinite value."""
        ring = self._rings["events"]
        return ring is not None and bool(ring.alarm)

    def bad_rows(self) -> Iterator[Any]:
        """Yield the rows with a NaN or an infinity, oldest first. Memory use does not grow with the trace."""
        ring = self._rings["events"]
        if ring is None or not ring.alarm:
            return
        for block in [self.events] if has_replays(self._array("calls")) else ring.blocks():
            yield from block[(block["flags"] & EventFlag.BAD != 0) & (block["kind"] != 0)]

    def early_events(self, most: int = MAX_EARLY_EVENTS) -> Array:
        """Return the first rows, a bounded number. They contain whatever a program does in every step."""
        ring = self._rings["events"]
        blocks, count = [np.empty(0, EVENT)], 0
        for block in ring.blocks() if ring is not None else ():
            blocks.append(block[block["kind"] != 0])
            count += len(block)
            if count >= most:
                break
        return np.concatenate(blocks)[:most]

    @cached_property
    def _starts(self) -> tuple[list[int], list[Instance | EagerOp]]:
        owners: list[Instance | EagerOp] = [
            *self.catalogue.instances.values(),
            *self.catalogue.eager.values(),
        ]
        owners = sorted((o for o in owners if not isinstance(o, EagerOp) or o.outputs), key=lambda o: o.first_tensor)
        return [owner.first_tensor for owner in owners], owners

    def tensor(self, number: int) -> TensorInfo | None:
        """Return the meaning of a tensor id, or None if the catalogue does not have it."""
        starts, owners = self._starts
        at = bisect_right(starts, int(number)) - 1
        if at < 0:
            return None
        owner = owners[at]
        offset = int(number) - owner.first_tensor
        return self._eager_tensor(owner, offset) if isinstance(owner, EagerOp) else self._function_tensor(owner, offset)

    def _eager_tensor(self, op: EagerOp, offset: int) -> TensorInfo | None:
        if offset >= op.outputs:
            return None
        return TensorInfo(op.type, op.type, offset, self.catalogue.sites.get(op.site), eager=op)

    def _function_tensor(self, instance: Instance, offset: int) -> TensorInfo | None:
        function = self.catalogue.functions.get(instance.function)
        if function is None or offset >= function.tensors:
            return None
        if offset < len(function.arguments):
            name = function.arguments[offset]
            return TensorInfo(f"{function.name}/{name}", "Argument", 0, None, instance, function)
        at = bisect_right(self._first_outputs(function), offset) - 1
        if at < 0 or offset >= function.nodes[at].first_output + len(function.nodes[at].dtypes):
            return None
        node = function.nodes[at]
        site = self.catalogue.sites.get(node.site)
        return TensorInfo(node.name, node.type, offset - node.first_output, site, instance, function, node)

    def _first_outputs(self, function: Function) -> list[int]:
        if function.id not in self._first_cache:
            self._first_cache[function.id] = [node.first_output for node in function.nodes]
        return self._first_cache[function.id]

    @cached_property
    def _first_cache(self) -> dict[int, list[int]]:
        return {}

    @cached_property
    def _step_calls(self) -> StepCalls:
        return StepCalls(self.catalogue, lambda: self.calls, lambda: self.events, self._instance_of)

    def _instance_of(self, number: int) -> Instance | None:
        tensor = self.tensor(number)
        return tensor.instance if tensor is not None else None

    @property
    def call_of_tf_step(self) -> dict[int, int]:
        """Map each of TensorFlow's step ids to the number of its call."""
        return self._step_calls.call_of_tf_step

    @property
    def dataset_steps(self) -> dict[int, int]:
        """Map each step id under which a function's dataset ran its own functions to the call of that function."""
        return self._step_calls.dataset_steps

    def dataset_function(self, row: Any) -> int | None:
        """Return the instance of the dataset's function that computed a row, if the dataset is inside a function."""
        return self._step_calls.dataset_function(row)

    def is_run_by_dataset(self, instance: Instance) -> bool:
        """Return whether a dataset inside a function runs it."""
        return self._step_calls.is_run_by_dataset(instance)

    @cached_property
    def steps_of_calls(self) -> KeyLookup:
        """Map each call to its training step."""
        kinds = self.calls["kind"]
        real = (kinds == CallKind.OP) | (kinds == CallKind.FUNCTION)
        return KeyLookup(self.calls["call"][real].astype(np.int64), self.calls["step"][real])

    @cached_property
    def batches(self) -> BatchIndex:
        """Return the epochs and batches of a Keras model, by call."""
        return BatchIndex(self.calls)

    def call_of(self, row: Any) -> int | None:
        """Return the eager call of an event, or None for events of datasets outside of calls."""
        step = int(row["step"])
        return step if row["kind"] == EventKind.EAGER else self.call_of_tf_step.get(step)

    def step_of(self, row: Any) -> int | None:
        """Return the training step of an event."""
        call = self.call_of(row)
        return int(self.steps_of_calls(np.array([call]))[0]) if call is not None else None

    def device_of(self, row: Any) -> str | None:
        """Return the logical device that computed an event's tensor, e.g. `/device:CPU:1`."""
        number = int(row["flags"]) >> DEVICE_SHIFT
        devices = self.catalogue.meta.get("devices")
        return str(devices[number - 1]) if isinstance(devices, list) and 0 < number <= len(devices) else None

    def shape_of(self, row: Any) -> tuple[int, ...] | None:
        number = int(row["shape"])
        return self.shapes[number] if 0 < number < len(self.shapes) else None

    @cached_property
    def _values(self) -> tuple[Array, KeyLookup]:
        """Return the rows of values that were not overwritten, and a lookup of them by event number."""
        try:
            rows = RingFile(self.folder / "value_rows.bin", VALUE).array
        except TraceError:
            rows = np.empty(0, VALUE)
        end = int((rows["offset"] + rows["size"]).max(initial=0))
        kept = rows[rows["offset"] + np.uint64(self._value_bound) >= end]
        return kept, KeyLookup(kept["event"].astype(np.int64), np.arange(len(kept)))

    @property
    def _value_bound(self) -> int:
        bound = self.catalogue.meta.get("value_bytes")
        return bound if isinstance(bound, int) and 0 < bound < 1 << 62 else 1 << 30

    def value(self, index: int) -> Array | None:
        """Return the value of the tensor of `events[index]`, if it was kept."""
        ring = self._rings["events"]
        if ring is None or not 0 <= index < len(self.events):
            return None
        rows, at = self._values
        place = int(at(ring.numbers()[index : index + 1])[0])
        row = self.events[index]
        shape = self.shape_of(row)
        if place < 0 or shape is None:
            return None
        kept = rows[place]
        try:
            data = read_bytes(self.folder / "values.bin", int(kept["offset"]) % self._value_bound, int(kept["size"]))
        except OSError as error:
            raise TraceError(f"{self.folder / 'values.bin'} cannot be read: {error.strerror}.") from error
        return decode(data, int(row["dtype"]), shape)
