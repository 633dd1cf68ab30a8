"""One call of the program: every tensor that was computed in it, and what each was computed from."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Instance, Node
from tensorsleuth.core.dtypes import Kind, dtype_of
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.core.ops.kinds import ARRAYS
from tensorsleuth.trace.dataflow.calls import Calls
from tensorsleuth.trace.dataflow.observed import Key, Observed, Row, uid_of
from tensorsleuth.trace.dataflow.row_index import RowIndex
from tensorsleuth.trace.dataflow.value_flow import Flow, Source
from tensorsleuth.trace.process.process import ProcessTrace, Tensor

MAX_DEPTH = 200  # ops without rows that are looked through
MAX_MOMENTS = 512  # that are kept in memory
SMALL = -65000.0  # less than the smallest numbers of all dtypes, about

FRAMES = 1 << 31  # numbers of loop frames, the upper half for datasets
_PRIME = 2_654_435_761

Slots = list[list[Observed]]


class Moments:
    """The calls of a process, each looked at as a whole."""

    def __init__(self, process: ProcessTrace) -> None:
        self.process = process
        self.calls = Calls(process)
        self.flow = Flow(process)
        self._moments: dict[tuple[int, int], Moment] = {}

    def of_call(self, call: int) -> Moment:
        return self._moment((call, -1))

    def of_dataset(self, tf_step: int) -> Moment:
        """Return the events that a dataset ran by itself under one of TensorFlow's step ids."""
        return self._moment((-1 - tf_step, tf_step))

    def of(self, observed: Observed) -> Moment:
        return self.of_call(observed.call) if observed.call >= 0 else self.of_dataset(-1 - observed.call)

    def number(self, observed: Observed) -> int | None:
        """The place of a tensor among the events of the process; None where it has no row."""
        return self.of(observed).number(observed.row) if observed.row is not None else None

    def _moment(self, key: tuple[int, int]) -> Moment:
        if key not in self._moments:
            if len(self._moments) > MAX_MOMENTS:
                self._moments.clear()
            self._moments[key] = Moment(self, *key)
        return self._moments[key]

    def by_uid(self, uid: int) -> Observed | None:
        """The eager tensor of that uid; what a function returned was seen inside the function."""
        place = self.calls.event_of(uid)
        if place is None:
            return None
        row = self.process.events[place]
        tensor = self.process.tensor(row["tensor"])
        if tensor is None:
            return None
        return self._inside(row, tensor) or Observed(self.process, tensor, row, call=int(row["step"]))

    def _inside(self, row: Row, tensor: Tensor) -> Observed | None:
        instance = self.process.catalogue.instances.get(tensor.eager.instance) if tensor.eager else None
        if row["flags"] & EventFlag.LOOKED or instance is None:
            return None
        moment = self.of_call(int(row["step"]))
        return next(moment.look_through(None, self.flow.returned(instance, tensor.output)), None)


class Moment:
    """One call: the rows of its graph, or of its eager op; or one run of a dataset's function."""

    def __init__(self, moments: Moments, call: int, tf_step: int) -> None:
        self.moments = moments
        self.calls = moments.calls
        self.call = call  # below 0 for a dataset
        self.process = moments.process
        self.places = self.calls.places(call, tf_step)
        self.rows = _with_elements(self.process, self.process.events[self.places])

    @property
    def step(self) -> int | None:
        return self.calls.step(self.call) if self.call >= 0 else None

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.rows)

    def _rows_of(self, tensor: int) -> list[Row]:
        return [self.rows[at] for at in self._index.of_tensor(tensor)]

    def number(self, row: Row) -> int | None:
        """The place of one of its rows among the events of the process."""
        alike = self._index.of_tensor(int(row["tensor"]))
        return next((int(self.places[at]) for at in alike if self.rows[at].tobytes() == row.tobytes()), None)

    def seen(self, tensor: int) -> list[Observed]:
        """Return the events of a tensor, one for each iteration of its loop."""
        described = self.process.tensor(tensor)
        rows = self._rows_of(tensor) if described is not None else []
        return [self._observed(described, row) for row in rows]

    def _observed(self, tensor: Any, row: Row) -> Observed:
        return Observed(self.process, tensor, row, call=self.call)

    # ---- what is bad in it

    @cached_property
    def _suspicious(self) -> Array:
        """Return for each row whether it may be bad. The few that may are then checked one by one."""
        return np.asarray((self.rows["flags"] & EventFlag.BAD != 0) | (self.rows["min"] < SMALL))

    @cached_property
    def healthy(self) -> set[int]:
        """Ids of tensors that have rows, none of them bad."""
        tensors = self.rows["tensor"]
        return {*tensors.tolist()} - {*tensors[self._suspicious].tolist()}

    @cached_property
    def bad(self) -> dict[Key, Observed]:
        found: dict[Key, Observed] = {}
        for row in self.rows[self._suspicious]:
            tensor = self.process.tensor(row["tensor"])
            one = self._observed(tensor, row) if tensor is not None else None
            if one is not None and one.bad:
                found[one.key] = one
        return found

    @cached_property
    def bad_slots(self) -> dict[Key, Slots]:
        """Return the inputs of each op with a bad output."""
        return {key: self.slots(one) for key, one in self.bad.items()}

    @cached_property
    def bad_users(self) -> dict[Key, list[Observed]]:
        """Return the bad tensors computed from each tensor, in this call or in another."""
        users: dict[Key, list[Observed]] = defaultdict(list)
        for key, slots in self.bad_slots.items():
            for source in {other.key for slot in slots for other in slot if other.bad}:
                users[source].append(self.bad[key])
        return users

    @cached_property
    def returned(self) -> dict[Key, list[int]]:
        """Return the uids of each tensor that the call returned to Python."""
        uids: dict[Key, list[int]] = defaultdict(list)
        for row in self.rows[self.rows["kind"] == EventKind.EAGER]:
            uid = uid_of(row)
            found = self.moments.by_uid(uid)
            if found is not None and found.call == self.call:
                uids[found.key].append(uid)
        return uids

    # ---- what a tensor was computed from

    def slots(self, observed: Observed) -> Slots:
        """Return the inputs of the op that computed a tensor, one entry for each input."""
        tensor = observed.tensor
        if tensor.eager is not None:
            found = (self.moments.by_uid(uid) for uid in self.calls.inputs(self.call))
            return [[one] if one is not None else [] for one in found]
        if tensor.instance is None or tensor.function is None:
            return []
        if tensor.node is None:
            return self._slots_of_argument(observed, tensor.instance)
        return self.slots_of(tensor.instance, tensor.function.number(tensor.node), observed.row)

    def _slots_of_argument(self, observed: Observed, instance: Instance) -> Slots:
        """Return what went into an argument of a function that a dataset runs inside of the call."""
        number = int(observed.row["tensor"]) - instance.first if observed.row is not None else -1
        if number < 0 or not self.process.runs_on_elements(instance):
            return []
        return [list(self.look_through(observed.row, self.moments.flow.element(instance, number)))]

    def slots_of(self, instance: Instance, node: int, row: Row | None) -> Slots:
        """Return the inputs of a node without a row of its own; `row` is a row beside it, of the same iteration."""
        slots = self.moments.flow.slots(instance, node)
        return [list(self.look_through(row, sources)) for sources in slots]

    def hidden(self, observed: Observed) -> list[tuple[Instance, int]]:
        """The ops between a tensor and its inputs as seen: fused into it, they have no rows. Nearest first."""
        tensor = observed.tensor
        if tensor.node is None or tensor.instance is None or tensor.function is None:
            return []
        found: list[tuple[Instance, int]] = []
        level = [(tensor.instance, tensor.function.number(tensor.node))]
        while level and len(found) < MAX_DEPTH:
            instance, number = level.pop(0)
            slots = (_of_iteration(observed.row, slot) for slot in self.moments.flow.slots(instance, number))
            for source in (source for slot in slots for source in slot):
                place = self._without_row(observed.row, source)
                if place is not None and place not in found:
                    found.append(place)
                    level.append(place)
        return found

    def _without_row(self, row: Row | None, source: Source) -> tuple[Instance, int] | None:
        tensor = self.process.tensor(source.tensor)
        if tensor is None or tensor.node is None or tensor.instance is None or tensor.function is None:
            return None
        if source.argument >= 0 or tensor.node.type == "Const" or _is_whole(tensor):
            return None
        if self._row_of(row, source) is not None:
            return None
        return tensor.instance, tensor.function.number(tensor.node)

    def look_through(
        self,
        row: Row | None,
        sources: list[Source],
        seen: set[Source] | None = None,
        depth: int = 0,
        listed: bool = False,
    ) -> Iterator[Observed]:
        """The sources as they were seen; where one was not (it was fused away), what it was computed from."""
        seen = set() if seen is None else seen
        for source in _of_iteration(row, sources):
            if source in seen or depth > MAX_DEPTH:
                continue
            seen.add(source)
            tensor = self.process.tensor(source.tensor)
            if tensor is None:
                continue
            found = self._row_of(row, source, listed)
            if found is not None:
                yield self._observed(tensor, found)
            elif source.argument >= 0:
                yield from self._passed(source.argument)
            elif tensor.node is None and tensor.instance is not None and self.process.runs_on_elements(tensor.instance):
                inner = self.moments.flow.element(tensor.instance, source.tensor - tensor.instance.first)
                yield from self.look_through(row, inner, seen, depth + 1, listed)
            elif tensor.node is not None and tensor.node.type == "Const":
                yield Observed(self.process, tensor, None, constant_of(tensor.node), self.call)
            elif tensor.node is not None and tensor.instance is not None and not _is_whole(tensor):
                assert tensor.function is not None
                slots = self.moments.flow.slots(tensor.instance, tensor.function.number(tensor.node))
                flat = [source for slot in slots for source in slot]
                then = _before(row) if source.earlier else row
                yield from self.look_through(then, flat, seen, depth + 1, listed or _is_list(tensor))

    def _row_of(self, row: Row | None, source: Source, listed: bool = False) -> Row | None:
        """The row of a source in this call, in the right iteration of its loop; `listed` are those of all."""
        frame = int(row["frame"]) if row is not None else -1
        if row is None or not self._index.in_frame(source.tensor, frame):
            return _of_loop(self._rows_of(source.tensor), listed)
        at = self._index.at(source.tensor, frame, int(row["iteration"]) - int(source.earlier))
        return self.rows[at] if at is not None else None

    def _passed(self, argument: int) -> Iterator[Observed]:
        uids = self.calls.inputs(self.call) if self.call >= 0 else []
        found = self.moments.by_uid(uids[argument]) if argument < len(uids) else None
        if found is not None:
            yield found


def _with_elements(process: ProcessTrace, rows: Array) -> Array:
    """The rows of a call, those of each element of a dataset as an iteration of a loop."""
    steps = process.dataset_steps
    places = np.flatnonzero([int(step) in steps for step in rows["step"]]) if steps else ()
    numbers: dict[int, tuple[int, int]] = {}  # of the step ids: the function, and which element it is
    elements: Counter[int] = Counter()
    for at in places:
        step = int(rows[at]["step"])
        if step not in numbers:
            function = process.dataset_function(rows[at]) or 0
            numbers[step] = function, elements[function]
            elements[function] += 1
        function, element = numbers[step]
        if rows[at]["frame"]:  # of a loop in the function: a frame of its own in each element
            rows[at]["frame"] = (int(rows[at]["frame"]) + element * _PRIME) % FRAMES
        else:
            rows[at]["frame"], rows[at]["iteration"] = FRAMES + function % FRAMES, element
    return rows


def _of_iteration(row: Row | None, sources: list[Source]) -> list[Source]:
    """A loop's state comes from outside in the first iteration, and from the one before in the others."""
    if row is None or not any(source.earlier for source in sources):
        return sources
    later = int(row["iteration"]) > 0
    return [source for source in sources if source.earlier == later or not (source.outside or source.earlier)]


def _before(row: Row | None) -> Row | None:
    """Stands for a row of the iteration before."""
    return None if row is None else {"frame": int(row["frame"]), "iteration": int(row["iteration"]) - 1}


def _is_whole(tensor: Tensor) -> bool:
    """Integers and bools: nothing bad gets through them, and few are looked at."""
    dtypes = tensor.node.dtypes if tensor.node is not None else ()
    return tensor.output < len(dtypes) and dtype_of(dtypes[tensor.output]).kind in (Kind.INT, Kind.UINT, Kind.BOOL)


def _is_list(tensor: Tensor) -> bool:
    """A tensor list, or array: it may hold what a loop put out in each of its iterations."""
    if tensor.type in ARRAYS:
        return True
    dtypes = tensor.node.dtypes if tensor.node is not None else ()
    return tensor.output < len(dtypes) and dtype_of(dtypes[tensor.output]).name == "variant"


def _of_loop(rows: list[Row], listed: bool) -> Row | None:
    """Return the last iteration of a tensor in a loop, as seen from outside; of a list, the one that went bad."""
    if not rows:
        return None
    bad = [row for row in rows if row["flags"] & EventFlag.BAD] if listed else []
    last = max((row for row in rows if row["frame"] == rows[-1]["frame"]), key=lambda row: int(row["iteration"]))
    return next((row for row in bad if row["nan"]), next(iter(bad), last))


def constant_of(node: Node) -> tuple[float, ...] | None:
    """The numbers of a constant; None where they were not kept, a NaN where one is all that is known of them."""
    try:
        return tuple(float(value) for value in node.attrs["value"])
    except (KeyError, ValueError):  # too large to be kept, complex, or text
        return (math.nan,) if node.attrs.get("nan") else None
