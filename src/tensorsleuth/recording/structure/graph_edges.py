"""A graph of ops whose edges can be followed in both directions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from tensorsleuth.core.ops.gradients import EMPTY_LISTS
from tensorsleuth.recording.functions.function_def import Definition

GRADIENT_SCOPE = re.compile("(^|/)gradient(s|_tape)/")
_ACCUMULATOR = re.compile(r"_accumulator(_\d+)*$")  # the name of such a list in the body of a loop
OutputRef = tuple[int, int]  # node, output; an argument is (-1 - its number, 0)


class GraphEdges:
    """Ops with their inputs and consumers, of a function or of eager code."""

    nodes: Any  # each has `op`, `name` and `attr`
    inputs: list[list[OutputRef]]
    consumers: Mapping[OutputRef, list[int]]  # the nodes that use each tensor
    after_gradients: set[int]  # the nodes of the backward pass and after it, such as the optimizer

    def walk_sources(self, start: OutputRef, goes_on: Callable[[int], bool], most: int = 256) -> Iterator[OutputRef]:
        """Yield the sources of a tensor, nearest first. Continue through nodes for which `goes_on` is true."""
        waiting, seen = [start], {start}
        while waiting and len(seen) < most:
            tensor = waiting.pop(0)
            yield tensor
            if tensor[0] >= 0 and goes_on(tensor[0]):
                new = [one for one in self.inputs[tensor[0]] if one not in seen]
                seen.update(new)
                waiting.extend(new)

    def walk_consumers(
        self, start: OutputRef, goes_on: Callable[[int], bool], most: int = 256
    ) -> Iterator[tuple[OutputRef, int]]:
        """Yield (tensor, consumer) for a tensor and the tensors computed from it, nearest first."""
        waiting, seen = [start], {start}
        while waiting and len(seen) < most:
            tensor = waiting.pop(0)
            for taker in self.consumers.get(tensor, ()):
                yield tensor, taker
                if goes_on(taker) and (taker, 0) not in seen:
                    seen.add((taker, 0))
                    waiting.append((taker, 0))


class FunctionEdges(GraphEdges):
    """The data edges of a function."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.nodes = definition.proto.node_def
        self.inputs = [
            [definition.source(text) for text in node.input if not text.startswith("^")] for node in self.nodes
        ]

    @cached_property
    def consumers(self) -> Mapping[OutputRef, list[int]]:  # type: ignore[override]
        takers: defaultdict[OutputRef, list[int]] = defaultdict(list)
        for number, taken in enumerate(self.inputs):
            for tensor in taken:
                takers[tensor].append(number)
        return takers

    @cached_property
    def returned(self) -> set[OutputRef]:
        """Return the outputs of the function."""
        return {self.definition.source(text) for text in self.definition.proto.ret.values()}

    @cached_property
    def after_gradients(self) -> set[int]:  # type: ignore[override]
        begun = [number for number in range(len(self.nodes)) if self._is_backward(number)]
        found = set(begun)
        while begun:
            number = begun.pop()
            outputs = sum(len(output.dtypes) for output in self.definition.outputs[number])
            taking = {taker for at in range(outputs) for taker in self.consumers.get((number, at), ())}
            begun.extend(taking - found)
            found |= taking
        return found

    def _is_backward(self, number: int) -> bool:
        """Return whether a node belongs to the backward pass. An empty list that it will fill later does not."""
        node = self.nodes[number]
        if node.op == "TensorListPushBack":  # in the body of such a loop
            source = self.inputs[number][0][0]
            return source < 0 and bool(_ACCUMULATOR.search(self._arguments[-1 - source]))
        return GRADIENT_SCOPE.search(node.name) is not None and node.op not in EMPTY_LISTS

    @cached_property
    def _arguments(self) -> list[str]:
        return [argument.name for argument in self.definition.proto.signature.input_arg]

    def name(self, output_ref: OutputRef) -> str:
        """Return the name under which consumers use a tensor."""
        return list(self.definition.output_names(output_ref[0]))[output_ref[1]][0]
