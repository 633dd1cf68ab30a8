"""The origin of a tensor's value: its op's inputs, followed through views, calls, loops and branches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import Function, Instance, Node
from tensorsleuth.core.ops.kinds import (
    BRANCHES,
    CONTROL_FLOW_PASSES,
    LOOP_ENTERS,
    LOOP_EXITS,
    LOOPS,
    MERGES,
    NEXT_ITERATIONS,
    PASS_THROUGH_DATASETS,
    VIEWS,
    is_dataset,
)
from tensorsleuth.trace.process.process import ProcessTrace

MAX_STEPS_BACK = 10_000


@dataclass(frozen=True, slots=True)
class ValueSource:
    """A tensor that another tensor was computed from."""

    tensor: int
    earlier: bool = False  # of the iteration before
    outside: bool = False  # of a loop's input: it comes from outside the loop
    argument: int = -1  # the position of an argument of a function that Python called


class ValueFlow:
    """The recorded graph of one process, followed from outputs to inputs."""

    def __init__(self, process: ProcessTrace, views: frozenset[str] = VIEWS) -> None:
        self._catalogue = process.catalogue
        self._views = views  # ops that are passed through
        self._input_sources: dict[tuple[int, int], list[list[ValueSource]]] = {}
        self._consumers: dict[int, dict[int, list[int]]] = {}

    @cached_property
    def _callees(self) -> dict[tuple[int, int], list[Instance]]:
        """Return the instances that a node of an instance calls, in the order of its attributes."""
        inner: dict[tuple[int, int], list[Instance]] = defaultdict(list)
        for instance in sorted(self._catalogue.instances.values(), key=lambda i: i.id):
            inner[instance.parent, instance.node].append(instance)
        return inner

    def has_callees(self, instance: Instance, node: int) -> bool:
        """Return whether the catalogue has the functions that a node calls."""
        return (instance.id, node) in self._callees

    def callees(self, instance: Instance, node: int) -> list[Instance]:
        """Return the instances that a node calls: the branches of a condition, or the parts of a loop, body last."""
        return self._callees.get((instance.id, node), [])

    def input_sources(self, instance: Instance, node: int) -> list[list[ValueSource]]:
        """Return for each input of a node the tensors that it may come from. A branch or a loop has two."""
        known = self._input_sources.get((instance.id, node))
        if known is None:
            function = self._catalogue.functions[instance.function]
            inputs = function.nodes[node].inputs
            known = [list(self._resolve(instance, function, *source, ValueSource(0))) for source in inputs]
            self._input_sources[instance.id, node] = known
        return known

    def consumers(self, function: Function, node: int) -> list[int]:
        """Return the nodes of a function that take an output of a node as input."""
        if function.id not in self._consumers:
            users = self._consumers[function.id] = defaultdict(list)
            for number, taker in enumerate(function.nodes):
                for source in dict.fromkeys(source for source, _ in taker.inputs):
                    users[source].append(number)
        return self._consumers[function.id].get(node, [])

    def output_sources(self, instance: Instance, output: int) -> list[ValueSource]:
        """Return the source of output number `output` of an instance."""
        function = self._catalogue.functions[instance.function]
        if not 0 <= output < len(function.returns):  # the catalogue contradicts itself
            return []
        return list(self._resolve(instance, function, *function.returns[output], ValueSource(0)))

    def _resolve(
        self, instance: Instance, function: Function, node: int, output: int, so_far: ValueSource
    ) -> Iterator[ValueSource]:
        for _ in range(MAX_STEPS_BACK):
            if node < 0:
                yield from self._argument(instance, -1 - node, so_far)
                return
            described = function.nodes[node]
            if described.type == "IdentityN":
                node, output = described.inputs[output]
                continue
            if described.type in self._views and described.inputs:
                node, output = described.inputs[0]
                continue
            if described.type in LOOP_EXITS:
                yield from self._loop_result(instance, function, described, so_far)
                return
            if described.type in CONTROL_FLOW_PASSES and described.inputs:
                node, output = described.inputs[0]
                so_far = _pass_on(described.type, so_far)
                continue
            if described.type in MERGES:
                yield from self._merge_sources(instance, function, described, so_far)
                return
            inner = self.callees(instance, node)
            if is_dataset(described.type) and described.type != "ReduceDataset":
                inner = []  # its output is a dataset
            if inner and described.type not in BRANCHES | LOOPS:
                yield from self._function_output(inner[0], output, so_far)
            elif inner and described.type in BRANCHES:
                for branch in inner:
                    yield from self._function_output(branch, output, so_far)
            elif inner and described.type in LOOPS:
                yield from self._function_output(inner[-1], output, so_far)
            else:
                yield ValueSource(
                    instance.first_tensor + described.first_output + output,
                    so_far.earlier,
                    so_far.outside,
                    so_far.argument,
                )
            return

    def _merge_sources(
        self, instance: Instance, function: Function, merge: Node, so_far: ValueSource
    ) -> Iterator[ValueSource]:
        """Yield the sources that meet in a loop or from two branches; follow a loop only once."""
        for node, output in merge.inputs:
            again = node >= 0 and function.nodes[node].type in NEXT_ITERATIONS
            if not (again and so_far.earlier):
                yield from self._resolve(instance, function, node, output, so_far)

    def _loop_result(
        self, instance: Instance, function: Function, leaves: Node, so_far: ValueSource
    ) -> Iterator[ValueSource]:
        """Yield the result of a loop: from its last iteration, or its input if it had none."""
        node = leaves.inputs[0][0]
        while node >= 0 and function.nodes[node].type not in MERGES and function.nodes[node].inputs:
            node = function.nodes[node].inputs[0][0]
        for source, output in reversed(function.nodes[node].inputs) if node >= 0 else ():
            again = source >= 0 and function.nodes[source].type in NEXT_ITERATIONS
            first = function.nodes[source].inputs[0] if again else (source, output)
            yield from self._resolve(instance, function, *first, so_far)

    def _function_output(self, inner: Instance, output: int, so_far: ValueSource) -> Iterator[ValueSource]:
        function = self._catalogue.functions.get(inner.function)
        if function is not None and output < len(function.returns):
            yield from self._resolve(inner, function, *function.returns[output], so_far)

    def _argument(self, instance: Instance, number: int, so_far: ValueSource) -> Iterator[ValueSource]:
        """Return the sources of an argument: the tensors that the caller passed."""
        if instance.parent < 0:
            yield ValueSource(instance.first_tensor + number, so_far.earlier, so_far.outside, number)
            return
        parent = self._catalogue.instances[instance.parent]
        caller = self._catalogue.functions[parent.function]
        node = caller.nodes[instance.node]
        if is_dataset(node.type):
            yield from self._dataset_argument(instance, number, so_far)
            return
        passed = number + 1 if node.type in BRANCHES else number
        if passed < len(node.inputs):
            outside = ValueSource(0, so_far.earlier, node.type in LOOPS or so_far.outside)
            yield from self._resolve(parent, caller, *node.inputs[passed], outside)
        if node.type in LOOPS and not so_far.earlier:
            body = self._callees[instance.parent, instance.node][-1]
            function = self._catalogue.functions[body.function]
            if number < len(function.returns) and function.returns[number] != (-1 - number, 0):
                yield from self._resolve(
                    body, function, *function.returns[number], ValueSource(0, True, so_far.outside)
                )

    def _dataset_argument(self, instance: Instance, number: int, so_far: ValueSource) -> Iterator[ValueSource]:
        """Yield an argument of a function that a dataset runs: the argument itself, or the tensor that was captured."""
        _, node = self._caller(instance)
        captured = _list_length(node, "Targuments")
        first = len(self._catalogue.functions[instance.function].arguments) - captured
        at = len(node.inputs) - captured + number - first
        if number < first:
            yield ValueSource(instance.first_tensor + number, so_far.earlier, so_far.outside)
        elif 0 <= at < len(node.inputs):
            parent = self._catalogue.instances[instance.parent]
            yield from self._resolve(parent, self._catalogue.functions[parent.function], *node.inputs[at], so_far)

    def element_sources(self, instance: Instance, number: int) -> list[ValueSource]:
        """Return the tensors that a dataset passes as an argument of its function: its state, or part of an element."""
        caller, node = self._caller(instance)
        parent, function = self._catalogue.instances[instance.parent], self._catalogue.functions[instance.function]
        states = _list_length(node, "Tstate")
        if number >= states:
            return list(self._element_parts(parent, caller, node, number - states, ValueSource(0)))
        first = node.inputs[number + 1 : number + 2]
        found = [one for at in first for one in self._resolve(parent, caller, *at, ValueSource(0, outside=True))]
        last = function.returns[number : number + 1]
        return found + [
            one for at in last for one in self._resolve(instance, function, *at, ValueSource(0, earlier=True))
        ]

    def _caller(self, instance: Instance) -> tuple[Function, Node]:
        caller = self._catalogue.functions[self._catalogue.instances[instance.parent].function]
        return caller, caller.nodes[instance.node]

    def _element_parts(
        self, instance: Instance, function: Function, taker: Node, number: int, so_far: ValueSource
    ) -> Iterator[ValueSource]:
        """Return the sources of part `number` of a dataset's input elements, if a function made them."""
        for _ in range(MAX_STEPS_BACK):
            node = taker.inputs[0][0] if taker.inputs else -1
            if node < 0:
                return
            taker = function.nodes[node]
            inner = self.callees(instance, node)
            if taker.type in PASS_THROUGH_DATASETS:
                continue
            if inner and taker.type != "ReduceDataset":
                yield from self._function_output(inner[0], number + _list_length(taker, "Tstate"), so_far)
            return


def _list_length(node: Node, attribute: str) -> int:
    """Return how many types an attribute lists."""
    lists = node.attrs.get(attribute) or [[]]
    return len(lists[0]) if isinstance(lists[0], list) else 0


def _pass_on(kind: str, so_far: ValueSource) -> ValueSource:
    """Return the source behind a node that only passes its input on."""
    if kind in NEXT_ITERATIONS:
        return ValueSource(0, True, so_far.outside, so_far.argument)
    return ValueSource(0, so_far.earlier, so_far.outside or kind in LOOP_ENTERS, so_far.argument)
