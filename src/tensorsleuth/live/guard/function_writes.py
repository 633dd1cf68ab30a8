"""Finds whether a call of a function wrote bad values to variables, and where these values came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tensorsleuth.core.catalog import Catalogue, Instance, Node
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.elementwise import DIVISIONS
from tensorsleuth.core.ops.kinds import BRANCHES, EXTERNAL_SOURCES, KEEP_BAD, LITERALS, writes_variables
from tensorsleuth.core.ops.views import REMOVABLE
from tensorsleuth.live.guard.suspects import SuspectReason, Suspects
from tensorsleuth.trace.dataflow.call_graph import CallGraph
from tensorsleuth.trace.dataflow.observed_tensor import Key, ObservedTensor, uid_of
from tensorsleuth.trace.dataflow.value_flow import ValueFlow, ValueSource
from tensorsleuth.trace.process.process import ProcessTrace

MAX_DEPTH = 100
MAX_REMOVED = 16  # ops
UNCONDITIONAL = -1


class VariableWrites:
    """The tensors that a function and its callees write to variables, found in the traced graph."""

    def __init__(self, process: ProcessTrace, root: int) -> None:
        self._process = process
        self._catalogue: Catalogue = process.catalogue
        self._flow = ValueFlow(process)
        self.family = set(self._family(root))
        self.written = self._written()
        self._sources_of_written = {one: set(self._unchanged_sources(one)) for one in self.written}

    def _family(self, root: int) -> Iterator[int]:
        """Yield the instances that belong to a call of the root, the root included."""
        children: dict[int, list[int]] = defaultdict(list)
        for instance in self._catalogue.instances.values():
            children[instance.parent].append(instance.id)
        todo = [root]
        while todo:
            one = todo.pop()
            yield one
            todo += children[one]

    def _written(self) -> dict[int, set[int]]:
        """Map each written tensor to the branches that write it, UNCONDITIONAL for a write outside branches."""
        written: dict[int, set[int]] = defaultdict(set)
        for number in self.family:
            instance = self._catalogue.instances[number]
            function = self._catalogue.functions[instance.function]
            branch = self._branch(instance)
            for at, node in enumerate(function.nodes):
                if writes_variables(node.type):
                    for tensor in self._sources(self._flow.input_sources(instance, at)):
                        written[tensor].add(branch)
        return written

    def _branch(self, instance: Instance) -> int:
        """Return the branch of a conditional that contains an instance, or UNCONDITIONAL."""
        for _ in range(MAX_DEPTH):
            if instance.parent < 0:
                break
            parent = self._catalogue.instances[instance.parent]
            if self._catalogue.functions[parent.function].nodes[instance.node].type in BRANCHES:
                return instance.id
            instance = parent
        return UNCONDITIONAL

    def _sources(self, slots: list[list[ValueSource]], depth: int = 0) -> Iterator[int]:
        """Yield these tensors and their sources through ops that only move values, since such ops have no rows."""
        for source in (source for slot in slots for source in slot):
            yield source.tensor
            tensor = self._process.tensor(source.tensor)
            node = tensor.node if tensor is not None else None
            if tensor is None or node is None or node.type not in KEEP_BAD or depth > MAX_DEPTH:
                continue
            if tensor.instance is not None and tensor.function is not None:
                yield from self._sources(
                    self._flow.input_sources(tensor.instance, tensor.function.number(node)), depth + 1
                )

    def _unchanged_sources(self, tensor: int) -> Iterator[int]:
        """Yield a tensor, and what it is computed from by ops that the graph optimizer removes: x · 1, x + 0."""
        described = self._process.tensor(tensor)
        yield tensor
        if described is None or described.instance is None or described.function is None or described.node is None:
            return
        first, nodes, todo = described.instance.first_tensor, described.function.nodes, [described.node]
        for at in range(MAX_REMOVED):
            for number, output in _removable_inputs(todo[at]) if at < len(todo) else ():
                yield first + nodes[number].first_output + output
                todo.append(nodes[number])

    def may_hold(self, bad: Iterable[int]) -> bool:
        """Return whether one of the bad tensors may be written, by the graph alone."""
        return any(tensor in sources for tensor in bad for sources in self._sources_of_written.values())

    def written_among(self, bad: Iterable[int], rows: Any) -> set[int]:
        """Return the bad tensors that were written. A branch counts as taken if any of its ops has run.

        If the graph optimizer removed what is written, the tensor that took its place has rows.
        """
        recorded, suspects, found = {*rows["tensor"].tolist()}, {*bad}, set[int]()
        for tensor, branches in self.written.items():
            sources = {tensor} if tensor in recorded else self._sources_of_written[tensor]
            if sources & suspects and any(one == UNCONDITIONAL or self._taken(one, rows) for one in branches):
                found |= sources & suspects
        return found

    def _taken(self, branch: int, rows: Any) -> bool:
        for number in self._family(branch):
            instance = self._catalogue.instances[number]
            tensors = self._catalogue.functions[instance.function].tensors
            if ((rows["tensor"] >= instance.first_tensor) & (rows["tensor"] < instance.first_tensor + tensors)).any():
                return True
        return False


def _removable_inputs(node: Node) -> list[tuple[int, int]]:
    """Return the inputs that take the place of an op if the graph optimizer removes it; no arguments of a function."""
    inputs = node.inputs[:1] if node.type in DIVISIONS else node.inputs
    return [(number, output) for number, output in inputs if number >= 0 and node.type in REMOVABLE]


class OriginWalk:
    """Walks from the bad tensors of a call back to their origins."""

    def __init__(self, call_graph: CallGraph, suspects: Suspects) -> None:
        self._moment = call_graph
        self._suspects = suspects

    def origins(self, outputs: Iterable[int], written: Iterable[int], instance: Instance) -> list[ObservedTensor]:
        """Return the origins of these outputs and written tensors."""
        wanted = set(written)
        start = [
            one for one in self._moment.bad_tensors.values() if one.row is not None and int(one.row["tensor"]) in wanted
        ]
        for output in outputs:
            start += self._moment.resolve_sources(None, self._moment.call_graphs.flow.output_sources(instance, output))
        return list(self._origins(start))

    def origins_of_writes(self, written: Iterable[int]) -> list[ObservedTensor]:
        """Return the origins of all writes of the call, even if the optimizer fused the written tensor away."""
        start = self._moment.resolve_sources(None, [ValueSource(tensor) for tensor in written])
        return list(self._origins(one for one in start if one.op != "ReadVariableOp"))

    def reason(self, births: Iterable[ObservedTensor]) -> SuspectReason:
        return min((self._reason_of(one) for one in births), default=SuspectReason.BORN)

    def _origins(self, start: Iterable[ObservedTensor]) -> Iterator[ObservedTensor]:
        todo, seen = [one for one in start if _is_bad(one)], set[Key]()
        while todo:
            one = todo.pop()
            if one.key in seen:
                continue
            seen.add(one.key)
            slots = [] if _is_eager(one) else self._moment.inputs_of(one)
            bad = [other for slot in slots for other in slot if _is_bad(other)]
            if not bad:
                yield one
            todo += bad

    def _reason_of(self, born: ObservedTensor) -> SuspectReason:
        if born.op in LITERALS:
            return SuspectReason.LITERAL
        if born.row is None or born.row["nan"]:
            return SuspectReason.BORN
        if born.op == "ReadVariableOp":
            return SuspectReason.LITERAL  # a computed infinity would have raised when it was written
        default = SuspectReason.DATA if born.op in EXTERNAL_SOURCES else SuspectReason.BORN
        return self._suspects.reason([uid_of(born.row)], default) if _is_eager(born) else default


def _is_bad(one: ObservedTensor) -> bool:
    return one.bad or (one.tensor.node is not None and bool(one.tensor.node.attrs.get("infinite")))


def _is_eager(one: ObservedTensor) -> bool:
    return one.row is not None and one.row["kind"] == EventKind.EAGER
