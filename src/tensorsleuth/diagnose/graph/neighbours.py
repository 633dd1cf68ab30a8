"""The neighbours of an op: the ops of its inputs, and the consumers of its output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tensorsleuth.core.catalog import Function, Instance, Node, Site
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.trace.dataflow.call_graph import CallGraphs, Slots
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor, uid_of

MAX_HOPS_BACK = 6  # ops that are looked at in each direction
MAX_OPS_PER_LEVEL = 200


@dataclass(frozen=True)
class OpNode:
    """An op, in a function or called eagerly."""

    type: str
    instance: Instance | None = None
    function: Function | None = field(default=None, compare=False)
    node_index: int = -1
    uids: tuple[int, ...] = ()  # what it put out, where it is eager
    call: int = -1

    @property
    def is_gradient(self) -> bool:
        node = self.graph_node
        return node is not None and (node.forward is not None or "gradient_tape/" in node.name)

    @property
    def graph_node(self) -> Node | None:
        return self.function.nodes[self.node_index] if self.function is not None else None


class Neighbours:
    """Walks the program as it was recorded, whether anything bad came by or not."""

    def __init__(self, call_graphs: CallGraphs) -> None:
        self._call_graphs = call_graphs

    def node_of(self, one: ObservedTensor) -> OpNode | None:
        tensor = one.tensor
        if tensor.eager is not None and one.row is not None:
            return OpNode(tensor.type, uids=(uid_of(one.row),), call=one.call)
        if tensor.node is None or tensor.instance is None or tensor.function is None:
            return None
        return OpNode(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node), call=one.call)

    def dtype(self, op_node: OpNode) -> str:
        """Return the dtype of its first output."""
        node = op_node.graph_node
        if node is not None:
            return dtype_of(node.dtypes[0]).name if node.dtypes else ""
        made = self._call_graphs.by_uid(op_node.uids[0]) if op_node.uids else None
        return made.dtype if made is not None else ""

    def recorded_outputs(self, op_node: OpNode) -> list[ObservedTensor]:
        """Return its outputs in the call, as far as they were recorded."""
        if op_node.function is None or op_node.instance is None:
            found = (self._call_graphs.by_uid(uid) for uid in op_node.uids)
            return [one for one in found if one is not None]
        first = op_node.instance.first_tensor + op_node.function.nodes[op_node.node_index].first_output
        return self._call_graphs.of_call(op_node.call).observations(first) if op_node.call >= 0 else []

    def recorded_inputs(self, op_node: OpNode) -> Slots:
        """Return its inputs in the call, as far as they were recorded."""
        if op_node.function is not None and op_node.instance is not None:
            return (
                self._call_graphs.of_call(op_node.call).node_inputs(op_node.instance, op_node.node_index, None)
                if op_node.call >= 0
                else []
            )
        return [[one for found in slot for one in self.recorded_outputs(found)] for slot in self.input_ops(op_node)]

    def input_ops(self, op_node: OpNode) -> list[list[OpNode]]:
        """Return the ops that compute each of its inputs."""
        if op_node.function is not None and op_node.instance is not None:
            slots = self._call_graphs.flow.input_sources(op_node.instance, op_node.node_index)
            return [
                [found for one in slot for found in self._ops_of_tensor(one.tensor, one.argument, op_node.call)]
                for slot in slots
            ]
        return [list(self._ops_of_uid(uid)) for uid in self._call_graphs.calls.inputs(op_node.call)]

    def variable_of(self, read: OpNode) -> int | None:
        """Return the handle of the variable that an op reads in its call."""
        uids = self._call_graphs.calls.inputs(read.call) if read.call >= 0 else []
        if read.instance is None:
            return uids[0] if uids else None
        slots = self._call_graphs.flow.input_sources(read.instance, read.node_index)
        arguments = (source.argument for source in slots[0]) if slots else iter(())
        return next((uids[at] for at in arguments if 0 <= at < len(uids)), None)

    def site(self, op_node: OpNode) -> Site | None:
        node = op_node.graph_node
        sites = self._call_graphs.process.catalogue.sites
        if node is not None:
            return sites.get(node.site)
        op = self._call_graphs.calls.op(op_node.call)
        return sites.get(op.site) if op is not None else None

    def ancestors(self, op_node: OpNode, depth: int = MAX_HOPS_BACK) -> Iterator[OpNode]:
        """Yield the ops that its inputs were computed by, nearest first, through views."""
        level, seen = [op_node], {op_node}
        for _ in range(depth):
            following = [found for one in level for found in self._sources(one)]
            level = list(dict.fromkeys(one for one in following if one not in seen))[:MAX_OPS_PER_LEVEL]
            seen.update(level)
            yield from (one for one in level if one.type not in VIEWS)

    def consumers(self, op_node: OpNode) -> set[OpNode]:
        """Return the consumers of its output, through views."""
        found: set[OpNode] = set()
        level = {op_node}
        while level:
            users = {user for one in level for user in self._users(one)} - found
            found |= users
            level = {user for user in users if user.type in VIEWS}
        return {one for one in found if one.type not in VIEWS}

    def _sources(self, op_node: OpNode) -> Iterator[OpNode]:
        if op_node.function is not None and op_node.instance is not None:
            for slot in self._call_graphs.flow.input_sources(op_node.instance, op_node.node_index):
                for source in slot:
                    yield from self._ops_of_tensor(source.tensor, source.argument, op_node.call)
            return
        for uid in self._call_graphs.calls.inputs(op_node.call):
            yield from self._ops_of_uid(uid)

    def _ops_of_tensor(self, number: int, argument: int, call: int) -> Iterator[OpNode]:
        if argument >= 0 and call >= 0:
            uids = self._call_graphs.calls.inputs(call)
            yield from self._ops_of_uid(uids[argument]) if argument < len(uids) else ()
            return
        tensor = self._call_graphs.process.tensor(number)
        if tensor is not None and tensor.node is not None and tensor.function is not None:
            yield OpNode(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node), call=call)

    def _ops_of_uid(self, uid: int) -> Iterator[OpNode]:
        found = self._call_graphs.by_uid(uid)
        spot = self.node_of(found) if found is not None else None
        if spot is not None:
            yield spot

    def _users(self, op_node: OpNode) -> Iterator[OpNode]:
        if op_node.function is not None:
            for number in self._call_graphs.flow.consumers(op_node.function, op_node.node_index):
                kind = op_node.function.nodes[number].type
                yield OpNode(kind, op_node.instance, op_node.function, number, call=op_node.call)
            return
        for uid in op_node.uids:
            for call in self._call_graphs.calls.consumers(uid)[:MAX_OPS_PER_LEVEL]:
                op = self._call_graphs.calls.op(call)
                if op is not None and op.instance < 0:
                    made = tuple(uid for uids in self._call_graphs.of_call(call).returned_uids.values() for uid in uids)
                    yield OpNode(op.type, uids=made, call=call)


def adds_one(neighbours: Neighbours, addition: OpNode) -> bool:
    """Return whether one of its terms is 1."""
    terms = [one for slot in neighbours.recorded_inputs(addition) for one in slot]
    return any(one.has_range and one.min == one.max == 1.0 for one in terms)
