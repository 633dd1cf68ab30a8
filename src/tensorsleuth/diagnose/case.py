"""What a cause gets to see: the op at which a bad value was born, what went in, and what is around it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.trace.observed import Observed
from tensorsleuth.diagnose.origin import Origin
from tensorsleuth.model.catalog import Function, Instance, Node, Site
from tensorsleuth.model.ops import VIEWS
from tensorsleuth.model.rows import EventFlag

NEARBY = 6  # ops that are looked at in each direction


@dataclass(frozen=True)
class Story:
    """What a cause says: why it happened, and what to change."""

    cause: str
    confidence: float
    why: str  # continues "<line>: …"
    fix: str


class Case:
    """One origin, with questions that causes ask of it."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.out = origin.born
        self.process = origin.process
        self.op = origin.born.op

    def input(self, slot: int) -> Observed | None:
        """What went into the op as its input number `slot`, as far as it was seen."""
        slots = self.origin.slots
        return slots[slot][0] if slot < len(slots) and slots[slot] else None

    @property
    def inputs(self) -> list[Observed]:
        return [one for slot in self.origin.slots for one in slot]

    # ---- gradients

    @cached_property
    def forward(self) -> tuple[Instance, Function, Node] | None:
        """The op in a graph that this one differentiates."""
        node = self.out.tensor.node
        if node is None or node.forward is None:
            return None
        catalogue = self.process.catalogue
        for instance in reversed(catalogue.instances.values()):
            function = catalogue.functions.get(instance.function)
            if function is not None and function.graph == node.forward.graph:
                found = next((other for other in function.nodes if other.name == node.forward.name), None)
                if found is not None:
                    return instance, function, found
        return None

    @property
    def differentiates(self) -> str | None:
        """The type of the op that this one is the gradient of."""
        tensor = self.out.tensor
        if tensor.node is not None and tensor.node.forward is not None:
            return tensor.node.forward.type
        forward = self.process.catalogue.eager.get(tensor.eager.forward) if tensor.eager else None
        return forward.type if forward is not None else None

    @property
    def site(self) -> Site | None:
        """The user's line of the op; for a gradient, of the op that it differentiates."""
        tensor, sites = self.out.tensor, self.process.catalogue.sites
        if tensor.node is not None and tensor.node.forward is not None:
            return sites.get(tensor.node.forward.site, tensor.site)
        if tensor.eager is not None and tensor.eager.forward > 0:
            forward = self.process.catalogue.eager.get(tensor.eager.forward)
            return sites.get(forward.site, tensor.site) if forward else tensor.site
        return tensor.site

    @property
    def name(self) -> str:
        """The name of the op, or of the one that it differentiates."""
        return self.forward[2].name if self.forward is not None else self.out.tensor.name

    # ---- around

    def before(self, *types: str) -> str | None:
        """The nearest of these types among the ops that this op's inputs were computed by."""
        near = itertools.chain((one.op for one in self.inputs), (node.type for node in self._upstream()))
        return next((kind for kind in near if kind in types), None)

    def leads_to(self, *path: str) -> bool:
        """Is this op's output (or its forward op's) taken by an op of the first type, that one's by the second, …"""
        start = self._start()
        if start is None:
            return False
        function, node = start
        level = {function.number(node)}
        for kind in path:
            level = {
                number for number in self._users(function, level) if function.nodes[number].type in kind.split("|")
            }
        return bool(level)

    def hidden_by(self, kinds: str) -> bool:
        """Did an op of one of these types, a step or two on, put out something healthy all the same."""
        tensor = self.out.tensor
        if tensor.function is None or tensor.instance is None or tensor.node is None:
            return False
        near = self._users(tensor.function, {tensor.function.number(tensor.node)})
        near |= self._users(tensor.function, near)
        wanted = {
            tensor.instance.first + tensor.function.nodes[number].first
            for number in near
            if tensor.function.nodes[number].type in kinds.split("|")
        }
        rows = [row for row in self.origin.moment.rows if int(row["tensor"]) in wanted]
        return bool(rows) and not any(row["flags"] & EventFlag.BAD for row in rows)

    @property
    def trains(self) -> bool:
        """Is a gradient taken of what this op is part of."""
        return any(function.kind in ("train", "backward") for function in self.process.catalogue.functions.values())

    def _users(self, function: Function, numbers: set[int]) -> set[int]:
        """The nodes that take the outputs of these, seen through views."""
        found: set[int] = set()
        level = numbers
        while level:
            users = {n for n, node in enumerate(function.nodes) if any(source in level for source, _ in node.inputs)}
            level = {n for n in users - found if function.nodes[n].type in VIEWS}
            found |= users
        return found

    def _start(self) -> tuple[Function, Node] | None:
        if self.forward is not None:
            return self.forward[1], self.forward[2]
        tensor = self.out.tensor
        return (tensor.function, tensor.node) if tensor.function is not None and tensor.node is not None else None

    def _upstream(self) -> Iterator[Node]:
        start = self._start()
        if start is None:
            yield from ()
            return
        function, node = start
        level, seen = [node], {id(node)}
        for _ in range(NEARBY):
            following = [function.nodes[source] for one in level for source, _ in one.inputs if source >= 0]
            level = [one for one in following if id(one) not in seen]
            seen.update(id(one) for one in level)
            yield from (one for one in level if one.type not in VIEWS)
