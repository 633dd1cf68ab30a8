"""The origin of a tensor's value: its op's inputs, followed through views, calls, loops and branches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import Function, Instance, Node
from tensorsleuth.core.ops.kinds import (
    BRANCHES,
    ENTERS,
    EXITS,
    HANDS_ON,
    LOOPS,
    MERGES,
    NEXT,
    PASSES,
    VIEWS,
    is_dataset,
)
from tensorsleuth.trace.process.process import ProcessTrace

MAX_STEPS_BACK = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor that another was computed from."""

    tensor: int
    earlier: bool = False  # taken from the iteration before
    outside: bool = False  # in a loop: it comes from outside of it
    argument: int = -1  # of a function that Python called: which argument


class Flow:
    """The recorded graph of one process, asked backwards."""

    def __init__(self, process: ProcessTrace) -> None:
        self._catalogue = process.catalogue
        self._slots: dict[tuple[int, int], list[list[Source]]] = {}
        self._users: dict[int, dict[int, list[int]]] = {}

    @cached_property
    def _inner(self) -> dict[tuple[int, int], list[Instance]]:
        """Return the instances that a node of an instance calls, in the order of its attributes."""
        inner: dict[tuple[int, int], list[Instance]] = defaultdict(list)
        for instance in sorted(self._catalogue.instances.values(), key=lambda i: i.id):
            inner[instance.parent, instance.node].append(instance)
        return inner

    def looked_into(self, instance: Instance, node: int) -> bool:
        """Is what a node calls known."""
        return (instance.id, node) in self._inner

    def called(self, instance: Instance, node: int) -> list[Instance]:
        """Return the instances that a node calls: the branches of a condition, or the parts of a loop, body last."""
        return self._inner.get((instance.id, node), [])

    def slots(self, instance: Instance, node: int) -> list[list[Source]]:
        """For each input of a node, the tensors that it may have come from (two for a branch or a loop)."""
        known = self._slots.get((instance.id, node))
        if known is None:
            function = self._catalogue.functions[instance.function]
            inputs = function.nodes[node].inputs
            known = [list(self._resolve(instance, function, *source, Source(0))) for source in inputs]
            self._slots[instance.id, node] = known
        return known

    def users(self, function: Function, node: int) -> list[int]:
        """The nodes of a function that take what one of them puts out."""
        if function.id not in self._users:
            users = self._users[function.id] = defaultdict(list)
            for number, taker in enumerate(function.nodes):
                for source in dict.fromkeys(source for source, _ in taker.inputs):
                    users[source].append(number)
        return self._users[function.id].get(node, [])

    def returned(self, instance: Instance, output: int) -> list[Source]:
        """Return the source of output number `output` of an instance."""
        function = self._catalogue.functions[instance.function]
        if not 0 <= output < len(function.returns):  # the catalogue contradicts itself
            return []
        return list(self._resolve(instance, function, *function.returns[output], Source(0)))

    def _resolve(
        self, instance: Instance, function: Function, node: int, output: int, so_far: Source
    ) -> Iterator[Source]:
        for _ in range(MAX_STEPS_BACK):
            if node < 0:
                yield from self._argument(instance, -1 - node, so_far)
                return
            described = function.nodes[node]
            if described.type == "IdentityN":
                node, output = described.inputs[output]
                continue
            if described.type in VIEWS and described.inputs:
                node, output = described.inputs[0]
                continue
            if described.type in EXITS:
                yield from self._left(instance, function, described, so_far)
                return
            if described.type in PASSES and described.inputs:
                node, output = described.inputs[0]
                so_far = _passing(described.type, so_far)
                continue
            if described.type in MERGES:
                yield from self._merged(instance, function, described, so_far)
                return
            inner = self.called(instance, node)
            if is_dataset(described.type) and described.type != "ReduceDataset":
                inner = []  # what it puts out is a dataset
            if inner and described.type not in BRANCHES | LOOPS:
                yield from self._through(inner[0], output, so_far)
            elif inner and described.type in BRANCHES:
                for branch in inner:
                    yield from self._through(branch, output, so_far)
            elif inner and described.type in LOOPS:
                yield from self._through(inner[-1], output, so_far)
            else:
                yield Source(instance.first + described.first + output, so_far.earlier, so_far.outside, so_far.argument)
            return

    def _merged(self, instance: Instance, function: Function, merge: Node, so_far: Source) -> Iterator[Source]:
        """Return the sources that meet in a loop or from two branches; follow a loop only once."""
        for node, output in merge.inputs:
            again = node >= 0 and function.nodes[node].type in NEXT
            if not (again and so_far.earlier):
                yield from self._resolve(instance, function, node, output, so_far)

    def _left(self, instance: Instance, function: Function, leaves: Node, so_far: Source) -> Iterator[Source]:
        """Return the result of a loop: from its last iteration, or its input if it had none."""
        node = leaves.inputs[0][0]
        while node >= 0 and function.nodes[node].type not in MERGES and function.nodes[node].inputs:
            node = function.nodes[node].inputs[0][0]
        for source, output in reversed(function.nodes[node].inputs) if node >= 0 else ():
            again = source >= 0 and function.nodes[source].type in NEXT
            first = function.nodes[source].inputs[0] if again else (source, output)
            yield from self._resolve(instance, function, *first, so_far)

    def _through(self, inner: Instance, output: int, so_far: Source) -> Iterator[Source]:
        function = self._catalogue.functions.get(inner.function)
        if function is not None and output < len(function.returns):
            yield from self._resolve(inner, function, *function.returns[output], so_far)

    def _argument(self, instance: Instance, number: int, so_far: Source) -> Iterator[Source]:
        """An argument of an instance: what its caller passed."""
        if instance.parent < 0:
            yield Source(instance.first + number, so_far.earlier, so_far.outside, number)
            return
        parent = self._catalogue.instances[instance.parent]
        caller = self._catalogue.functions[parent.function]
        node = caller.nodes[instance.node]
        if is_dataset(node.type):
            yield from self._dataset_argument(instance, number, so_far)
            return
        passed = number + 1 if node.type in BRANCHES else number
        if passed < len(node.inputs):
            outside = Source(0, so_far.earlier, node.type in LOOPS or so_far.outside)
            yield from self._resolve(parent, caller, *node.inputs[passed], outside)
        if node.type in LOOPS and not so_far.earlier:
            body = self._inner[instance.parent, instance.node][-1]
            function = self._catalogue.functions[body.function]
            if number < len(function.returns) and function.returns[number] != (-1 - number, 0):
                yield from self._resolve(body, function, *function.returns[number], Source(0, True, so_far.outside))

    def _dataset_argument(self, instance: Instance, number: int, so_far: Source) -> Iterator[Source]:
        """Yield an argument of a function that a dataset runs: itself, or the captured tensor that it is."""
        _, node = self._caller(instance)
        captured = _listed(node, "Targuments")
        first = len(self._catalogue.functions[instance.function].arguments) - captured
        at = len(node.inputs) - captured + number - first
        if number < first:
            yield Source(instance.first + number, so_far.earlier, so_far.outside)
        elif 0 <= at < len(node.inputs):
            parent = self._catalogue.instances[instance.parent]
            yield from self._resolve(parent, self._catalogue.functions[parent.function], *node.inputs[at], so_far)

    def element(self, instance: Instance, number: int) -> list[Source]:
        """Return the tensors that a dataset made an argument of its function of: its state, or part of an element."""
        caller, node = self._caller(instance)
        parent, function = self._catalogue.instances[instance.parent], self._catalogue.functions[instance.function]
        states = _listed(node, "Tstate")
        if number >= states:
            return list(self._element(parent, caller, node, number - states, Source(0)))
        first = node.inputs[number + 1 : number + 2]
        found = [one for at in first for one in self._resolve(parent, caller, *at, Source(0, outside=True))]
        last = function.returns[number : number + 1]
        return found + [one for at in last for one in self._resolve(instance, function, *at, Source(0, earlier=True))]

    def _caller(self, instance: Instance) -> tuple[Function, Node]:
        caller = self._catalogue.functions[self._catalogue.instances[instance.parent].function]
        return caller, caller.nodes[instance.node]

    def _element(
        self, instance: Instance, function: Function, taker: Node, number: int, so_far: Source
    ) -> Iterator[Source]:
        """Part `number` of the elements that a dataset takes from the one before it, where a function made them."""
        for _ in range(MAX_STEPS_BACK):
            node = taker.inputs[0][0] if taker.inputs else -1
            if node < 0:
                return
            taker = function.nodes[node]
            inner = self.called(instance, node)
            if taker.type in HANDS_ON:
                continue
            if inner and taker.type != "ReduceDataset":
                yield from self._through(inner[0], number + _listed(taker, "Tstate"), so_far)
            return


def _listed(node: Node, attribute: str) -> int:
    """Return how many types an attribute lists."""
    lists = node.attrs.get(attribute) or [[]]
    return len(lists[0]) if isinstance(lists[0], list) else 0


def _passing(kind: str, so_far: Source) -> Source:
    """Return the source beyond a node that only passes it on."""
    if kind in NEXT:
        return Source(0, True, so_far.outside, so_far.argument)
    return Source(0, so_far.earlier, so_far.outside or kind in ENTERS, so_far.argument)
