"""Consumers of a tensor: the recorded graph, walked forwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.trace.dataflow.call_graph import Moment, Moments
from tensorsleuth.trace.dataflow.observed import Row, uid_of
from tensorsleuth.trace.query.ops import Op, OpIndex

Taker = tuple[Op, Moment]


class Takers:
    """The ops that took each tensor of a process, seen through views and calls."""

    def __init__(self, moments: Moments, index: OpIndex) -> None:
        self._moments = moments
        self._index = index
        self._catalogue = moments.process.catalogue

    @cached_property
    def _nodes(self) -> dict[int, list[Op]]:
        """The nodes that take each tensor id."""
        entered = {(instance.parent, instance.node) for instance in self._catalogue.instances.values()}
        takers: dict[int, list[Op]] = defaultdict(list)
        for instance, function in self._catalogue.running():
            for number, node in enumerate(function.nodes):
                op = self._index.node(instance.id, number)
                if op is None or node.type in VIEWS or (instance.id, number) in entered:
                    continue
                slots = self._moments.flow.slots(instance, number)
                for tensor in dict.fromkeys(source.tensor for slot in slots for source in slot):
                    takers[tensor].append(op)
        return takers

    def nodes(self, tensor: int) -> list[Op]:
        """The ops in functions that take a tensor, by its id."""
        return self._nodes.get(tensor, [])

    def of(self, tensor: int, row: Row | None, moment: Moment) -> Iterator[Taker]:
        """The ops that took a tensor of one moment, each with the call that it ran in."""
        if row is not None and row["kind"] == EventKind.EAGER:
            yield from self._of_uid(uid_of(row))
            return
        yield from ((op, moment) for op in self.nodes(tensor))
        for uid in self._returned(tensor, moment):
            yield from self._of_uid(uid)

    def _returned(self, tensor: int, moment: Moment) -> Iterator[int]:
        """The uids under which Python got a tensor that a function computed."""
        for row in moment.rows[moment.rows["kind"] == EventKind.EAGER]:
            given = self._moments.process.tensor(row["tensor"])
            eager = given.eager if given is not None else None
            instance = self._catalogue.instances.get(eager.instance) if eager is not None else None
            if given is not None and instance is not None:
                sources = self._moments.flow.returned(instance, given.output)
                if any(source.tensor == tensor for source in sources):
                    yield uid_of(row)

    def _of_uid(self, uid: int) -> Iterator[Taker]:
        for call in self._moments.calls.consumers(uid):
            called = self._moments.calls.op(call)
            op = self._index.eager(called.id) if called is not None else None
            if op is not None:
                inside = list(self._inside(op, uid, call))
                yield from ((taker, self._moments.of_call(call)) for taker in inside or [op])

    def _inside(self, op: Op, uid: int, call: int) -> Iterator[Op]:
        """The ops in a called function that take what was passed to it."""
        instance = self._catalogue.instances.get(op.instance)
        if instance is not None:
            for number, passed in enumerate(self._moments.calls.inputs(call)):
                if passed == uid:
                    yield from self.nodes(instance.first + number)
