"""Walks from an op to its inputs and consumers, as far as requested. Closed groups do not count as steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent, call_graph_of
from tensorsleuth.ui.web.answers.graph.groups import OpGroups
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.tensor_table import TensorTable

MAX_NODES = 60  # in the answer
MAX_OPS = 400  # examined, also in closed groups
MAX_CONSUMERS = 20


@dataclass
class GraphNode:
    """A node: an op, or a closed group, with the tensors that stand for it."""

    id: str
    group: str | None  # the open group that contains it
    closed: str | None  # the closed group that it stands for
    events: dict[Op, TensorEvent] = field(default_factory=dict)
    up: bool = False
    down: bool = False


@dataclass(frozen=True)
class GraphEdge:
    """An edge from a tensor to its consumer."""

    source: str
    target: str
    bad: bool
    back: bool


class GraphWalk:
    """The neighbourhood of one tensor."""

    def __init__(self, tensor_table: TensorTable, op_groups: OpGroups, is_open: Callable[[str], bool]) -> None:
        self._table = tensor_table
        self._groups = op_groups
        self._is_open = is_open
        self.nodes: dict[str, GraphNode] = {}
        self.edges: dict[tuple[str, str, bool], GraphEdge] = {}
        self.left_out: set[str] = set()
        self._neighbour_cache: dict[tuple[int, bool], list[TensorEvent]] = {}

    def go(self, start: TensorEvent, up: int, down: int) -> None:
        """Walk to the inputs, level by level, then to the consumers, then to other tensors between those."""
        self._add(start)
        self._spread(start, up, upward=True)
        self._spread(start, down, upward=False)
        for met in self.nodes.values():
            for event in list(met.events.values()):
                met.up |= self._complete(event, upward=True)
                met.down |= self._complete(event, upward=False)

    def _neighbours(self, event: TensorEvent, upward: bool) -> list[TensorEvent]:
        """Return the inputs or consumers of a tensor, as far as the catalogue knows them."""
        key = id(event), upward
        if key not in self._neighbour_cache:
            found = event.inputs() if upward else event.consumers(MAX_CONSUMERS)
            self._neighbour_cache[key] = [other for other in found if other.op.first_tensor >= 0]
        return self._neighbour_cache[key]

    def _complete(self, event: TensorEvent, upward: bool) -> bool:
        """Add the edges of a tensor to shown ones; return whether it has others."""
        more = False
        for other in self._neighbours(event, upward):
            if self.node_of(other.op)[0] in self.nodes:
                self._join(*((other, event) if upward else (event, other)))
            else:
                more = True
        return more

    def node_of(self, op: Op) -> tuple[str, str | None, str | None]:
        """Return the node of an op: its id, the open group that contains it, the closed group that it stands for."""
        inside = None
        for group in self._groups.of_op(op):
            if not self._is_open(group):
                return group, inside, group
            inside = group
        return ids.op_id(op), inside, None

    def _add(self, event: TensorEvent) -> bool:
        """Show a tensor; return whether there was room for its node."""
        name, group, closed = self.node_of(event.op)
        if name not in self.nodes and len(self.nodes) >= MAX_NODES:
            self.left_out.add(name)
            return False
        self.nodes.setdefault(name, GraphNode(name, group, closed)).events.setdefault(event.op, event)
        return True

    def _spread(self, start: TensorEvent, levels: int, upward: bool) -> None:
        seen = {start.op}
        todo = deque([(start, 0)])
        while todo and len(seen) < MAX_OPS:
            event, level = todo.popleft()
            here = self.node_of(event.op)[0]
            for other in self._neighbours(event, upward):
                inside = self.node_of(other.op)[0] == here
                if other.op in seen or (level >= levels and not inside) or not self._add(other):
                    continue
                seen.add(other.op)
                todo.appendleft((other, level)) if inside else todo.append((other, level + 1))

    def _join(self, source: TensorEvent, target: TensorEvent) -> None:
        first, second = self.node_of(source.op)[0], self.node_of(target.op)[0]
        back = self._is_back(source, target)
        if first == second and (not back or self.nodes[first].closed is not None):
            return  # within one node, only an edge from the iteration before is shown
        known = self.edges.get((first, second, back))
        bad = self._carries_bad(source, target) or bool(known and known.bad)
        self.edges[first, second, back] = GraphEdge(first, second, bad, back)

    def _carries_bad(self, source: TensorEvent, target: TensorEvent) -> bool:
        """Return whether an unrecorded op passed a bad value on: its input is bad, and so is its consumer's."""
        if source.row is not None or not target.bad:
            return source.bad
        return any(before.bad for before in self._neighbours(source, upward=True))

    def _is_back(self, source: TensorEvent, target: TensorEvent) -> bool:
        """Return whether an edge comes from the iteration before, by the graph, else by the recorded iterations."""
        op, asked = target.op, self._table.process_indexes[target.op.process]
        instance = asked.process.catalogue.instances.get(op.instance) if op.node >= 0 else None
        if instance is not None and source.op.process == op.process:
            slots = asked.call_graphs.flow.input_sources(instance, op.node)
            tensor = source.op.first_tensor + source.output
            taken = [one.earlier for slot in slots for one in slot if one.tensor == tensor]
            if taken:
                return all(taken)
        return _is_later(source, target)


def _is_later(source: TensorEvent, target: TensorEvent) -> bool:
    """Return whether two tensors were recorded in different iterations of a loop."""
    if source.row is None or target.row is None or source.iteration is None or target.iteration is None:
        return False
    same_loop = call_graph_of(source) is call_graph_of(target) and source.row["frame"] == target.row["frame"]
    return bool(same_loop and source.iteration < target.iteration)
