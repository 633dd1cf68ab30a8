"""The neighbours of an op: the ops of its inputs, and the consumers of its output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tensorsleuth.core.catalog import Function, Instance, Node, Site
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.trace.dataflow.call_graph import Moments, Slots
from tensorsleuth.trace.dataflow.observed import Observed, uid_of

NEARBY = 6  # ops that are looked at in each direction
MAX_WIDTH = 200


@dataclass(frozen=True)
class Spot:
    """An op, in a function or called eagerly."""

    type: str
    instance: Instance | None = None
    function: Function | None = field(default=None, compare=False)
    node: int = -1
    uids: tuple[int, ...] = ()  # what it put out, where it is eager
    call: int = -1

    @property
    def is_gradient(self) -> bool:
        node = self.described
        return node is not None and (node.forward is not None or "gradient_tape/" in node.name)

    @property
    def described(self) -> Node | None:
        return self.function.nodes[self.node] if self.function is not None else None


class Around:
    """Walks the program as it was recorded, whether anything bad came by or not."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments

    def spot_of(self, one: Observed) -> Spot | None:
        tensor = one.tensor
        if tensor.eager is not None and one.row is not None:
            return Spot(tensor.type, uids=(uid_of(one.row),), call=one.call)
        if tensor.node is None or tensor.instance is None or tensor.function is None:
            return None
        return Spot(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node), call=one.call)

    def dtype(self, spot: Spot) -> str:
        """Return the dtype of its first output."""
        node = spot.described
        if node is not None:
            return dtype_of(node.dtypes[0]).name if node.dtypes else ""
        made = self._moments.by_uid(spot.uids[0]) if spot.uids else None
        return made.dtype if made is not None else ""

    def seen(self, spot: Spot) -> list[Observed]:
        """Return its outputs in the call, as far as they were recorded."""
        if spot.function is None or spot.instance is None:
            found = (self._moments.by_uid(uid) for uid in spot.uids)
            return [one for one in found if one is not None]
        first = spot.instance.first + spot.function.nodes[spot.node].first
        return self._moments.of_call(spot.call).seen(first) if spot.call >= 0 else []

    def slots(self, spot: Spot) -> Slots:
        """Return its inputs in the call, as far as they were recorded."""
        if spot.function is not None and spot.instance is not None:
            return self._moments.of_call(spot.call).slots_of(spot.instance, spot.node, None) if spot.call >= 0 else []
        return [[one for found in slot for one in self.seen(found)] for slot in self.inputs(spot)]

    def inputs(self, spot: Spot) -> list[list[Spot]]:
        """The ops that each of its inputs was computed by."""
        if spot.function is not None and spot.instance is not None:
            slots = self._moments.flow.slots(spot.instance, spot.node)
            return [
                [found for one in slot for found in self._node(one.tensor, one.argument, spot.call)] for slot in slots
            ]
        return [list(self._made(uid)) for uid in self._moments.calls.inputs(spot.call)]

    def site(self, spot: Spot) -> Site | None:
        node = spot.described
        sites = self._moments.process.catalogue.sites
        if node is not None:
            return sites.get(node.site)
        op = self._moments.calls.op(spot.call)
        return sites.get(op.site) if op is not None else None

    def before(self, spot: Spot, depth: int = NEARBY) -> Iterator[Spot]:
        """The ops that its inputs were computed by, nearest first; views are seen through."""
        level, seen = [spot], {spot}
        for _ in range(depth):
            following = [found for one in level for found in self._sources(one)]
            level = list(dict.fromkeys(one for one in following if one not in seen))[:MAX_WIDTH]
            seen.update(level)
            yield from (one for one in level if one.type not in VIEWS)

    def after(self, spot: Spot) -> set[Spot]:
        """The ops that take what it put out, seen through views."""
        found: set[Spot] = set()
        level = {spot}
        while level:
            users = {user for one in level for user in self._users(one)} - found
            found |= users
            level = {user for user in users if user.type in VIEWS}
        return {one for one in found if one.type not in VIEWS}

    def _sources(self, spot: Spot) -> Iterator[Spot]:
        if spot.function is not None and spot.instance is not None:
            for slot in self._moments.flow.slots(spot.instance, spot.node):
                for source in slot:
                    yield from self._node(source.tensor, source.argument, spot.call)
            return
        for uid in self._moments.calls.inputs(spot.call):
            yield from self._made(uid)

    def _node(self, number: int, argument: int, call: int) -> Iterator[Spot]:
        if argument >= 0 and call >= 0:
            uids = self._moments.calls.inputs(call)
            yield from self._made(uids[argument]) if argument < len(uids) else ()
            return
        tensor = self._moments.process.tensor(number)
        if tensor is not None and tensor.node is not None and tensor.function is not None:
            yield Spot(tensor.type, tensor.instance, tensor.function, tensor.function.number(tensor.node), call=call)

    def _made(self, uid: int) -> Iterator[Spot]:
        found = self._moments.by_uid(uid)
        spot = self.spot_of(found) if found is not None else None
        if spot is not None:
            yield spot

    def _users(self, spot: Spot) -> Iterator[Spot]:
        if spot.function is not None:
            for number in self._moments.flow.users(spot.function, spot.node):
                kind = spot.function.nodes[number].type
                yield Spot(kind, spot.instance, spot.function, number, call=spot.call)
            return
        for uid in spot.uids:
            for call in self._moments.calls.consumers(uid)[:MAX_WIDTH]:
                op = self._moments.calls.op(call)
                if op is not None and op.instance < 0:
                    made = tuple(uid for uids in self._moments.of_call(call).returned.values() for uid in uids)
                    yield Spot(op.type, uids=made, call=call)


def adds_one(around: Around, addition: Spot) -> bool:
    """Is one of its terms 1."""
    terms = [one for slot in around.slots(addition) for one in slot]
    return any(one.known and one.min == one.max == 1.0 for one in terms)
