"""Consumers of a tensor: the recorded graph, walked forwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.trace.dataflow.call_graph import CallGraph, CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import Row, uid_of
from tensorsleuth.trace.query.ops import Op, OpIndex

Consumer = tuple[Op, CallGraph]


class ConsumerIndex:
    """The ops that took each tensor of a process as input, followed through views and calls."""

    def __init__(self, call_graphs: CallGraphs, index: OpIndex) -> None:
        self._call_graphs = call_graphs
        self._index = index
        self._catalogue = call_graphs.process.catalogue

    @cached_property
    def _node_consumers(self) -> dict[int, list[Op]]:
        """Return the nodes that take each tensor, by tensor id."""
        entered = {(instance.parent, instance.node) for instance in self._catalogue.instances.values()}
        takers: dict[int, list[Op]] = defaultdict(list)
        for instance, function in self._catalogue.called_functions():
            for number, node in enumerate(function.nodes):
                op = self._index.node(instance.id, number)
                if op is None or node.type in VIEWS or (instance.id, number) in entered:
                    continue
                slots = self._call_graphs.flow.input_sources(instance, number)
                for tensor in dict.fromkeys(source.tensor for slot in slots for source in slot):
                    takers[tensor].append(op)
        return takers

    def node_consumers(self, tensor: int) -> list[Op]:
        """Return the ops in functions that take a tensor, by its id."""
        return self._node_consumers.get(tensor, [])

    def consumers_of(self, tensor: int, row: Row | None, call_graph: CallGraph) -> Iterator[Consumer]:
        """Return the ops that took a tensor of one call as input, each with its own call."""
        if row is not None and row["kind"] == EventKind.EAGER:
            yield from self._consumers_of_uid(uid_of(row))
            return
        yield from ((op, call_graph) for op in self.node_consumers(tensor))
        for uid in self._returned_uids(tensor, call_graph):
            yield from self._consumers_of_uid(uid)

    def _returned_uids(self, tensor: int, call_graph: CallGraph) -> Iterator[int]:
        """Return the uids of a function's tensor that Python received."""
        for row in call_graph.rows[call_graph.rows["kind"] == EventKind.EAGER]:
            given = self._call_graphs.process.tensor(row["tensor"])
            eager = given.eager if given is not None else None
            instance = self._catalogue.instances.get(eager.instance) if eager is not None else None
            if given is not None and instance is not None:
                sources = self._call_graphs.flow.output_sources(instance, given.output)
                if any(source.tensor == tensor for source in sources):
                    yield uid_of(row)

    def _consumers_of_uid(self, uid: int) -> Iterator[Consumer]:
        for call in self._call_graphs.calls.consumers(uid):
            called = self._call_graphs.calls.op(call)
            op = self._index.eager(called.id) if called is not None else None
            if op is not None:
                inside = list(self._argument_consumers(op, uid, call))
                yield from ((taker, self._call_graphs.of_call(call)) for taker in inside or [op])

    def _argument_consumers(self, op: Op, uid: int, call: int) -> Iterator[Op]:
        """Return the ops in a called function that take an argument."""
        instance = self._catalogue.instances.get(op.instance)
        if instance is not None:
            for number, passed in enumerate(self._call_graphs.calls.inputs(call)):
                if passed == uid:
                    yield from self.node_consumers(instance.first_tensor + number)
