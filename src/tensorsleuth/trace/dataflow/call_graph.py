"""One call of the program: every tensor that it computed, and the inputs of each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Instance, Node
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.core.ops.kinds import TENSOR_ARRAYS, VIEWS
from tensorsleuth.trace.dataflow.calls import CallIndex
from tensorsleuth.trace.dataflow.observed_tensor import Key, ObservedTensor, Row, uid_of
from tensorsleuth.trace.dataflow.row_index import RowIndex
from tensorsleuth.trace.dataflow.value_flow import ValueFlow, ValueSource
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo

MAX_FUSED_OPS = 200  # the walk back to inputs passes at most this many ops without rows
MAX_CALL_GRAPHS = 512  # kept in memory
LOWEST_NORMAL_VALUE = -65000.0  # close to the lowest finite value of any dtype, or below it

LOOP_FRAMES = 1 << 31  # loop frames from this number on are made up for elements of datasets
_PRIME = 2_654_435_761

Slots = list[list[ObservedTensor]]


class CallGraphs:
    """The calls of a process, each as a graph."""

    def __init__(self, process: ProcessTrace, views: frozenset[str] = VIEWS) -> None:
        self.process = process
        self.calls = CallIndex(process)
        self._views = views  # ops that the flow of values passes through
        self._graphs: dict[tuple[int, int], CallGraph] = {}

    @cached_property
    def flow(self) -> ValueFlow:
        """Return the flow of values through the functions that were called."""
        return ValueFlow(self.process, self._views)

    def of_call(self, call: int) -> CallGraph:
        return self._graph((call, -1))

    def of_dataset(self, tf_step: int) -> CallGraph:
        """Return the events that a dataset ran outside of any call, under one of TensorFlow's step ids."""
        return self._graph((-1 - tf_step, tf_step))

    def graph_of(self, observed_tensor: ObservedTensor) -> CallGraph:
        return (
            self.of_call(observed_tensor.call)
            if observed_tensor.call >= 0
            else self.of_dataset(-1 - observed_tensor.call)
        )

    def event_number(self, observed_tensor: ObservedTensor) -> int | None:
        """Return the number of a tensor's event in its process, or None if it has no row."""
        return (
            self.graph_of(observed_tensor).event_number(observed_tensor.row)
            if observed_tensor.row is not None
            else None
        )

    def _graph(self, key: tuple[int, int]) -> CallGraph:
        if key not in self._graphs:
            if len(self._graphs) > MAX_CALL_GRAPHS:
                self._graphs.clear()
            self._graphs[key] = CallGraph(self, *key)
        return self._graphs[key]

    def by_uid(self, uid: int) -> ObservedTensor | None:
        """Return the eager tensor with that uid. For a result of a function, return its event inside the function."""
        place = self.calls.event_of(uid)
        if place is None:
            return None
        row = self.process.events[place]
        tensor = self.process.tensor(row["tensor"])
        if tensor is None:
            return None
        return self._function_result(row, tensor) or ObservedTensor(self.process, tensor, row, call=int(row["step"]))

    def _function_result(self, row: Row, tensor_info: TensorInfo) -> ObservedTensor | None:
        instance = self.process.catalogue.instances.get(tensor_info.eager.instance) if tensor_info.eager else None
        if row["flags"] & EventFlag.LOOKED or instance is None:
            return None
        moment = self.of_call(int(row["step"]))
        return next(moment.resolve_sources(None, self.flow.output_sources(instance, tensor_info.output)), None)


class CallGraph:
    """The rows of one call of a function, of one eager op, or of one run of a dataset's function."""

    def __init__(self, call_graphs: CallGraphs, call: int, tf_step: int) -> None:
        self.call_graphs = call_graphs
        self.calls = call_graphs.calls
        self.call = call  # below 0 for a dataset
        self.process = call_graphs.process
        self.event_numbers = self.calls.event_numbers(call, tf_step)
        self.rows = _with_elements(self.process, self.process.events[self.event_numbers])

    @property
    def step(self) -> int | None:
        return self.calls.step(self.call) if self.call >= 0 else None

    @cached_property
    def _index(self) -> RowIndex:
        return RowIndex(self.rows)

    def _rows_of(self, tensor: int) -> list[Row]:
        return [self.rows[at] for at in self._index.of_tensor(tensor)]

    def event_number(self, row: Row) -> int | None:
        """Return the number of a row's event in its process."""
        alike = self._index.of_tensor(int(row["tensor"]))
        return next((int(self.event_numbers[at]) for at in alike if self.rows[at].tobytes() == row.tobytes()), None)

    def observations(self, tensor: int) -> list[ObservedTensor]:
        """Return the events of a tensor, one for each iteration of its loop."""
        described = self.process.tensor(tensor)
        rows = self._rows_of(tensor) if described is not None else []
        return [self._observed(described, row) for row in rows]

    def _observed(self, tensor: Any, row: Row) -> ObservedTensor:
        return ObservedTensor(self.process, tensor, row, call=self.call)

    # ---- bad tensors

    @cached_property
    def _suspicious(self) -> Array:
        """Return for each row whether it may be bad. Only those rows are then checked one by one."""
        return np.asarray((self.rows["flags"] & EventFlag.BAD != 0) | (self.rows["min"] < LOWEST_NORMAL_VALUE))

    @cached_property
    def healthy_tensors(self) -> set[int]:
        """Return the ids of the tensors that have rows, all of them healthy."""
        tensors = self.rows["tensor"]
        return {*tensors.tolist()} - {*tensors[self._suspicious].tolist()}

    @cached_property
    def bad_tensors(self) -> dict[Key, ObservedTensor]:
        found: dict[Key, ObservedTensor] = {}
        for row in self.rows[self._suspicious]:
            tensor = self.process.tensor(row["tensor"])
            one = self._observed(tensor, row) if tensor is not None else None
            if one is not None and one.bad:
                found[one.key] = one
        return found

    @cached_property
    def bad_inputs(self) -> dict[Key, Slots]:
        """Return the inputs of each op with a bad output."""
        return {key: self.inputs_of(one) for key, one in self.bad_tensors.items()}

    @cached_property
    def bad_consumers(self) -> dict[Key, list[ObservedTensor]]:
        """Return the bad tensors computed from each tensor, in this call or in another."""
        users: dict[Key, list[ObservedTensor]] = defaultdict(list)
        for key, slots in self.bad_inputs.items():
            for source in {other.key for slot in slots for other in slot if other.bad}:
                users[source].append(self.bad_tensors[key])
        return users

    @cached_property
    def returned_uids(self) -> dict[Key, list[int]]:
        """Return the uids of each tensor that the call returned to Python."""
        uids: dict[Key, list[int]] = defaultdict(list)
        for row in self.rows[self.rows["kind"] == EventKind.EAGER]:
            uid = uid_of(row)
            found = self.call_graphs.by_uid(uid)
            if found is not None and found.call == self.call:
                uids[found.key].append(uid)
        return uids

    # ---- inputs

    def inputs_of(self, observed_tensor: ObservedTensor) -> Slots:
        """Return the inputs of the op that computed a tensor, one entry for each input."""
        tensor = observed_tensor.tensor
        if tensor.eager is not None:
            found = (self.call_graphs.by_uid(uid) for uid in self.calls.inputs(self.call))
            return [[one] if one is not None else [] for one in found]
        if tensor.instance is None or tensor.function is None:
            return []
        if tensor.node is None:
            return self._argument_inputs(observed_tensor, tensor.instance)
        return self.node_inputs(tensor.instance, tensor.function.number(tensor.node), observed_tensor.row)

    def _argument_inputs(self, observed_tensor: ObservedTensor, instance: Instance) -> Slots:
        """Return the tensors that became an argument of a function that a dataset runs inside the call."""
        number = int(observed_tensor.row["tensor"]) - instance.first_tensor if observed_tensor.row is not None else -1
        if number < 0 or not self.process.is_run_by_dataset(instance):
            return []
        return [
            list(self.resolve_sources(observed_tensor.row, self.call_graphs.flow.element_sources(instance, number)))
        ]

    def node_inputs(self, instance: Instance, node: int, row: Row | None) -> Slots:
        """Return the inputs of a node without a row of its own; `row` is another row of the same iteration."""
        slots = self.call_graphs.flow.input_sources(instance, node)
        return [list(self.resolve_sources(row, sources)) for sources in slots]

    def fused_ops(self, observed_tensor: ObservedTensor) -> list[tuple[Instance, int]]:
        """Return the ops without rows (fused ones) between a tensor and its recorded inputs, nearest first."""
        tensor = observed_tensor.tensor
        if tensor.node is None or tensor.instance is None or tensor.function is None:
            return []
        found: list[tuple[Instance, int]] = []
        level = [(tensor.instance, tensor.function.number(tensor.node))]
        while level and len(found) < MAX_FUSED_OPS:
            instance, number = level.pop(0)
            slots = (
                _sources_in_iteration(observed_tensor.row, slot)
                for slot in self.call_graphs.flow.input_sources(instance, number)
            )
            for source in (source for slot in slots for source in slot):
                place = self._fused_op(observed_tensor.row, source)
                if place is not None and place not in found:
                    found.append(place)
                    level.append(place)
        return found

    def _fused_op(self, row: Row | None, value_source: ValueSource) -> tuple[Instance, int] | None:
        tensor = self.process.tensor(value_source.tensor)
        if tensor is None or tensor.node is None or tensor.instance is None or tensor.function is None:
            return None
        if value_source.argument >= 0 or tensor.node.type == "Const" or _is_integer(tensor):
            return None
        if self._row_of(row, value_source) is not None:
            return None
        return tensor.instance, tensor.function.number(tensor.node)

    def resolve_sources(
        self,
        row: Row | None,
        value_sources: list[ValueSource],
        seen: set[ValueSource] | None = None,
        depth: int = 0,
        listed: bool = False,
    ) -> Iterator[ObservedTensor]:
        """Return the recorded tensors of the sources. A source that was fused away is replaced by its own inputs."""
        seen = set() if seen is None else seen
        for source in _sources_in_iteration(row, value_sources):
            if source in seen or depth > MAX_FUSED_OPS:
                continue
            seen.add(source)
            tensor = self.process.tensor(source.tensor)
            if tensor is None:
                continue
            found = self._row_of(row, source, listed)
            if found is not None:
                yield self._observed(tensor, found)
            elif source.argument >= 0:
                yield from self._passed_tensor(source.argument)
            elif (
                tensor.node is None and tensor.instance is not None and self.process.is_run_by_dataset(tensor.instance)
            ):
                inner = self.call_graphs.flow.element_sources(
                    tensor.instance, source.tensor - tensor.instance.first_tensor
                )
                yield from self.resolve_sources(row, inner, seen, depth + 1, listed)
            elif tensor.node is not None and tensor.node.type == "Const":
                yield ObservedTensor(self.process, tensor, None, constant_of(tensor.node), self.call)
            elif tensor.node is not None and tensor.instance is not None and not _is_integer(tensor):
                assert tensor.function is not None
                slots = self.call_graphs.flow.input_sources(tensor.instance, tensor.function.number(tensor.node))
                flat = [source for slot in slots for source in slot]
                then = _previous_iteration(row) if source.earlier else row
                yield from self.resolve_sources(then, flat, seen, depth + 1, listed or _is_tensor_list(tensor))

    def _row_of(self, row: Row | None, value_source: ValueSource, listed: bool = False) -> Row | None:
        """Return a source's row in this call, of the right iteration, or of any iteration if `listed`."""
        frame = int(row["frame"]) if row is not None else -1
        if row is None or not self._index.has_frame(value_source.tensor, frame):
            return _last_iteration(self._rows_of(value_source.tensor), listed)
        at = self._index.row_at(value_source.tensor, frame, int(row["iteration"]) - int(value_source.earlier))
        return self.rows[at] if at is not None else None

    def _passed_tensor(self, argument: int) -> Iterator[ObservedTensor]:
        uids = self.calls.inputs(self.call) if self.call >= 0 else []
        found = self.call_graphs.by_uid(uids[argument]) if argument < len(uids) else None
        if found is not None:
            yield found


def _with_elements(process: ProcessTrace, rows: Array) -> Array:
    """Return the rows of a call. Each element of a dataset counts as an iteration of a loop."""
    steps = process.dataset_steps
    places = np.flatnonzero([int(step) in steps for step in rows["step"]]) if steps else ()
    numbers: dict[int, tuple[int, int]] = {}  # by step id: the function, and the number of the element
    elements: Counter[int] = Counter()
    for at in places:
        step = int(rows[at]["step"])
        if step not in numbers:
            function = process.dataset_function(rows[at]) or 0
            numbers[step] = function, elements[function]
            elements[function] += 1
        function, element = numbers[step]
        if rows[at]["frame"]:  # a loop inside the function gets its own frame for each element
            rows[at]["frame"] = (int(rows[at]["frame"]) + element * _PRIME) % LOOP_FRAMES
        else:
            rows[at]["frame"], rows[at]["iteration"] = LOOP_FRAMES + function % LOOP_FRAMES, element
    return rows


def _sources_in_iteration(row: Row | None, value_sources: list[ValueSource]) -> list[ValueSource]:
    """Return a loop's state: from outside in the first iteration, else from the iteration before."""
    if row is None or not any(source.earlier for source in value_sources):
        return value_sources
    later = int(row["iteration"]) > 0
    return [source for source in value_sources if source.earlier == later or not (source.outside or source.earlier)]


def _previous_iteration(row: Row | None) -> Row | None:
    """Return a stand-in for a row of the iteration before."""
    return None if row is None else {"frame": int(row["frame"]), "iteration": int(row["iteration"]) - 1}


def _is_integer(tensor_info: TensorInfo) -> bool:
    """Return whether a tensor is an integer or boolean. They cannot hold a NaN, and few have rows."""
    dtypes = tensor_info.node.dtypes if tensor_info.node is not None else ()
    return tensor_info.output < len(dtypes) and dtype_of(dtypes[tensor_info.output]).kind in (
        DTypeKind.INT,
        DTypeKind.UINT,
        DTypeKind.BOOL,
    )


def _is_tensor_list(tensor_info: TensorInfo) -> bool:
    """Return whether it is a tensor list or array, which may hold the outputs of all iterations of a loop."""
    if tensor_info.type in TENSOR_ARRAYS:
        return True
    dtypes = tensor_info.node.dtypes if tensor_info.node is not None else ()
    return tensor_info.output < len(dtypes) and dtype_of(dtypes[tensor_info.output]).name == "variant"


def _last_iteration(rows: list[Row], listed: bool) -> Row | None:
    """Return a tensor's last row in a loop, as code after the loop reads it. For a list, return the first bad row."""
    if not rows:
        return None
    bad = [row for row in rows if row["flags"] & EventFlag.BAD] if listed else []
    last = max((row for row in rows if row["frame"] == rows[-1]["frame"]), key=lambda row: int(row["iteration"]))
    return next((row for row in bad if row["nan"]), next(iter(bad), last))


def constant_of(node: Node) -> tuple[float, ...] | None:
    """Return the numbers of a constant: None if they were not kept, a NaN if all that is known is that it has one."""
    try:
        return tuple(float(value) for value in node.attrs["value"])
    except (KeyError, ValueError):  # too large to be kept, complex, or a string
        return (math.nan,) if node.attrs.get("nan") else None
