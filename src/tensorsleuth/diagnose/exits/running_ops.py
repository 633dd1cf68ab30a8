"""Ops of an unfinished call that had all inputs and no output yet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Function, Instance, Node
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.data_ops import PYTHON_OPS, UNRECORDED_OPS, WAITING_OPS
from tensorsleuth.core.ops.kinds import BRANCHES
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.process.process import ProcessTrace

MAX_LISTED_OPS = 3  # that are told
MAX_NODES = 50_000  # of a function that is looked through

NodePlace = tuple[int, int]  # an instance, and a node of its function


class UnfinishedCall:
    """One call, which began and did not end."""

    def __init__(self, call_graphs: CallGraphs, call: int, root: Instance) -> None:
        self._call_graphs = call_graphs
        self._process: ProcessTrace = call_graphs.process
        self._flow = call_graphs.flow
        self._call = call
        self._root = root

    def find(self, in_python: bool) -> list[tuple[Instance, Node, int | None]]:
        """Return the likeliest op first, with the index of its output among the events of an earlier call.

        `in_python`: a stack shows that the function had called Python.
        """
        left = [place for place in self._nodes if place not in self._done]
        called = [place for place in left if self._node_at(place)[1].type in PYTHON_OPS] if in_python else []
        waiting = called or [place for place in left if self._is_ready(place)]
        before = self._earlier_events
        if before:  # what the optimizer took out has never had a row
            waiting = [
                place for place in waiting if self._is_waiter(place) or self._output_in(place, before) is not None
            ]
        waiting.sort(key=self._rank, reverse=True)
        return [(*self._node_at(place), self._output_in(place, before)) for place in waiting[:MAX_LISTED_OPS]]

    @cached_property
    def _instances(self) -> list[Instance]:
        """The function that was called, and all that it calls."""
        inside = {self._root.id}
        found = [self._root]
        for instance in self._process.catalogue.instances.values():  # a caller comes before what it calls
            if instance.parent in inside:
                inside.add(instance.id)
                found.append(instance)
        return found

    @cached_property
    def _nodes(self) -> dict[NodePlace, list[list[int]]]:
        """The nodes that compute, each with the tensors that each input may come from."""
        nodes: dict[NodePlace, list[list[int]]] = {}
        for instance in self._instances:
            for number, node in enumerate(self._function(instance).nodes):
                if len(nodes) < MAX_NODES and self._computes(instance, number, node):
                    slots = self._flow.input_sources(instance, number)
                    nodes[instance.id, number] = [[one.tensor for one in slot if not one.earlier] for slot in slots]
        return nodes

    def _computes(self, instance: Instance, number: int, node: Node) -> bool:
        return not self._flow.has_callees(instance, number) and node.type not in UNRECORDED_OPS

    def _function(self, instance: Instance) -> Function:
        return self._process.catalogue.functions[instance.function]

    def _node_at(self, node_place: NodePlace) -> tuple[Instance, Node]:
        instance = self._process.catalogue.instances[node_place[0]]
        return instance, self._function(instance).nodes[node_place[1]]

    @cached_property
    def _times(self) -> dict[int, int]:
        """Return when each tensor of the call was recorded, in the newest iteration of its loop."""
        rows = self._call_graphs.of_call(self._call).rows
        newest: dict[int, tuple[int, int]] = {}
        for tensor, iteration, time in zip(rows["tensor"].tolist(), rows["iteration"].tolist(), rows["time"].tolist()):
            newest[tensor] = max(newest.get(tensor, (-1, 0)), (iteration, time))
        last: dict[int, int] = {}
        for tensor, (iteration, _) in newest.items():
            owner = self._owner(tensor)
            if owner is not None:
                last[owner[0]] = max(last.get(owner[0], 0), iteration)
        return {
            tensor: time
            for tensor, (iteration, time) in newest.items()
            if (owner := self._owner(tensor)) is not None and iteration == last[owner[0]]
        }

    def _owner(self, tensor: int) -> NodePlace | None:
        """Return the node that outputs a tensor; its number is −1 for an argument."""
        found = self._process.tensor(tensor)
        if found is None or found.instance is None or found.function is None:
            return None
        return found.instance.id, found.function.number(found.node) if found.node is not None else -1

    @cached_property
    def _done(self) -> set[NodePlace]:
        """Return the computed tensors: those recorded, or with a recorded consumer."""
        todo = [owner for tensor in self._times if (owner := self._owner(tensor)) is not None]
        done = set(todo)
        while todo:
            for tensor in (tensor for slot in self._nodes.get(todo.pop(), []) for tensor in slot):
                owner = self._owner(tensor)
                if owner is not None and owner not in done:
                    done.add(owner)
                    todo.append(owner)
        return done

    def _is_ready(self, node_place: NodePlace) -> bool:
        """Return whether all its inputs were computed, and the trace would show it if it had run."""
        if not self._is_waiter(node_place) and not self._is_recorded(node_place):
            return False
        return all(any(self._is_available(tensor) for tensor in slot) or not slot for slot in self._nodes[node_place])

    def _is_available(self, tensor: int, depth: int = 0) -> bool:
        owner = self._owner(tensor)
        if owner is None or owner[1] < 0 or owner in self._done or depth > 50:
            return True
        if owner not in self._nodes:  # a constant, a variable
            return True
        if self._is_recorded(owner) or self._is_waiter(owner):
            return False
        return all(any(self._is_available(one, depth + 1) for one in slot) or not slot for slot in self._nodes[owner])

    def _is_recorded(self, node_place: NodePlace) -> bool:
        _, node = self._node_at(node_place)
        return any(dtype_of(dtype).kind in (DTypeKind.FLOAT, DTypeKind.COMPLEX) for dtype in node.dtypes)

    def _is_waiter(self, node_place: NodePlace) -> bool:
        return self._node_at(node_place)[1].type in WAITING_OPS

    def _rank(self, node_place: NodePlace) -> tuple[bool, bool, int]:
        """Return the sort key: Python first, as it crashes and hangs; unstarted branches last."""
        instance, _ = self._node_at(node_place)
        newest = max((self._newest(tensor) for slot in self._nodes[node_place] for tensor in slot), default=0)
        return self._is_waiter(node_place) and self._is_recorded(node_place), not self._in_idle_branch(instance), newest

    def _newest(self, tensor: int, depth: int = 0) -> int:
        owner = self._owner(tensor)
        if tensor in self._times or owner is None or depth > 20:
            return self._times.get(tensor, 0)
        return max((self._newest(one, depth + 1) for slot in self._nodes.get(owner, []) for one in slot), default=0)

    def _in_idle_branch(self, instance: Instance) -> bool:
        parent = self._process.catalogue.instances.get(instance.parent)
        if parent is None or self._function(parent).nodes[instance.node].type not in BRANCHES:
            return False
        return not any(place[0] == instance.id for place in self._done)

    @cached_property
    def _earlier_events(self) -> dict[int, int]:
        """Return the event indexes, by tensor, of the previous call of the same function."""
        calls = self._process.calls
        ops = [op.id for op in self._process.catalogue.eager.values() if op.instance == self._root.id]
        ended = calls[(calls["kind"] == CallKind.ENDED) & np.isin(calls["op"], ops) & (calls["call"] < self._call)]
        if not len(ended):
            return {}
        places: Array = self._call_graphs.of_call(int(ended["call"][-1])).event_numbers
        return dict(zip(self._process.events["tensor"][places].tolist(), places.tolist(), strict=True))

    def _output_in(self, node_place: NodePlace, events: dict[int, int]) -> int | None:
        instance, node = self._node_at(node_place)
        return next(self._outputs(instance, node, events), None)

    def _outputs(self, instance: Instance, node: Node, events: dict[int, int]) -> Iterator[int]:
        first = instance.first_tensor + node.first_output
        yield from (events[tensor] for tensor in range(first, first + len(node.dtypes)) if tensor in events)
