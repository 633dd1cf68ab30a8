"""The tensors that became bad because of one tensor, from its origin through calls and functions to the harm."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.catalog import FailedCall
from tensorsleuth.core.ops.kinds import (
    COLLECTIVES,
    DEBUG_OPS,
    EXTERNAL_SOURCES,
    HAND_OUTS,
    NUMERICS_CHECKS,
    VALUE_TESTS,
    is_dataset,
    writes_variables,
)
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.diagnose.nan.failed_calls import FailedCalls
from tensorsleuth.diagnose.nan.origins import Origin, OriginFinder
from tensorsleuth.trace.dataflow.call_graph import CallGraph
from tensorsleuth.trace.dataflow.collectives import bad_receivers
from tensorsleuth.trace.dataflow.observed_tensor import Key, ObservedTensor

MAX_REACHED = 4000
MAX_CONSUMERS = 30
MAX_BATCHES = 4


class Spread:
    """Walks forward from an origin, through bad tensors only."""

    def __init__(self, finder: OriginFinder, origin: Origin) -> None:
        self._finder = finder
        failed = finder.process.cached(FailedCalls) if finder.process.catalogue.failures else None
        self._failed_calls = failed.by_tensor if failed is not None else {}
        self._call_graphs = finder.call_graphs
        self.origin = origin
        self.reached: dict[Key, ObservedTensor] = {}
        self._parents: dict[Key, Key] = {}
        self.variables: dict[int, Key] = {}  # handle -> what was written to it
        self.results: list[Key] = []  # what Python got, and nothing took from it
        self.refused: list[Key] = []  # an op that checks for bad values refused it
        self.raised: dict[Key, FailedCall] = {}  # an op raised because of it, caught or not
        self._walk()

    @property
    def did_harm(self) -> bool:
        return bool(self.variables or self.results or self.refused or self.raised) or self._is_write

    @property
    def _is_write(self) -> bool:
        return self.origin.call_graph.call != self.origin.out.call  # born as it was written to a variable

    @property
    def written_variables(self) -> list[int]:
        """Return the variables, those of the model before those of metrics and of the optimizer."""
        known = self._finder.process.catalogue.variables
        return sorted(self.variables, key=lambda handle: known.get(handle, ("", ""))[1])

    def _walk(self) -> None:
        start = self.origin.out
        self.reached[start.key] = start
        todo = [start]
        for one in todo:
            self._note_sinks(one)
            if len(self.reached) > MAX_REACHED:
                return
            for child in self._children(one):
                if child.key not in self.reached:
                    self.reached[child.key] = child
                    self._parents[child.key] = one.key
                    todo.append(child)

    def _children(self, one: ObservedTensor) -> Iterator[ObservedTensor]:
        moment = self._call_graphs.graph_of(one)
        yield from moment.bad_consumers.get(one.key, [])
        if one.op in COLLECTIVES:
            yield from bad_receivers(moment, one)
        if one.call < 0:
            yield from self._finder.bad_batches[:MAX_BATCHES] if self._is_returned(one) else []
        for call in self._consumers(moment, one):
            yield from self._call_graphs.of_call(call).bad_consumers.get(one.key, [])
            op = self._call_graphs.calls.op(call)
            if op is not None and is_dataset(op.type):  # what it is made of comes back as batches
                yield from self._finder.bad_batches[:MAX_BATCHES]
                yield from self._finder.bad_elements[:MAX_BATCHES]

    def _consumers(self, call_graph: CallGraph, one: ObservedTensor) -> list[int]:
        uids = call_graph.returned_uids.get(one.key, [])
        return [
            call for uid in uids for call in self._call_graphs.calls.consumers(uid)[:MAX_CONSUMERS] if call != one.call
        ]

    def _is_returned(self, one: ObservedTensor) -> bool:
        return one.row is not None and int(one.row["tensor"]) in self._finder.returned_tensors

    # ---- where it did harm

    def _note_sinks(self, one: ObservedTensor) -> None:
        moment = self._call_graphs.graph_of(one)
        for handle in self._finder.variables.bad_writes(one.call).get(one.key, []) if one.call >= 0 else []:
            self.variables.setdefault(handle, one.key)
        takers = [
            (call, op) for call in self._consumers(moment, one) if (op := self._call_graphs.calls.op(call)) is not None
        ]
        for call, op in takers:
            if writes_variables(op.type):
                self.variables.setdefault(self._call_graphs.calls.inputs(call)[0], one.key)
        ops = [op.type for _, op in takers if op.type not in DEBUG_OPS]
        if self._is_handed_out(one, ops) or (moment.returned_uids.get(one.key) and self._is_result(ops, one)):
            self.results.append(one.key)
        if self._is_refused(one):
            self.refused.append(one.key)
        if one.key in self._failed_calls:
            self.raised[one.key] = self._failed_calls[one.key]

    def _is_refused(self, one: ObservedTensor) -> bool:
        tensor = one.tensor
        if tensor.node is None or tensor.function is None:
            return False
        users = self._call_graphs.flow.consumers(tensor.function, tensor.function.number(tensor.node))
        return any(tensor.function.nodes[user].type in NUMERICS_CHECKS for user in users)

    def _is_handed_out(self, one: ObservedTensor, takers: list[str]) -> bool:
        """Did Python read it, or an op show or store it: as it was, whatever was made of it besides."""
        if self.origin.from_outside and one.op in EXTERNAL_SOURCES:  # what comes in may be full of holes
            return False
        moment = self._call_graphs.graph_of(one)
        read = self._finder.process.catalogue.bad_reads
        return (
            any(uid in read for uid in moment.returned_uids.get(one.key, []))
            or any(taker in HAND_OUTS for taker in takers)
            or self._finder.is_shown(one, moment)
        )

    def _is_result(self, takers: list[str], one: ObservedTensor) -> bool:
        """Return whether nothing consumed it, or only a check for bad values that ended the program."""
        if any(taker not in VALUE_TESTS for taker in takers) or one.op in EXTERNAL_SOURCES:
            return False
        return not takers or self._finder.is_last_step(one.call)

    # ---- forward and backward

    @cached_property
    def forward(self) -> dict[Key, ObservedTensor]:
        """Return the bad tensors up to the first gradient."""
        found = {self.origin.out.key: self.origin.out}
        for key, one in self.reached.items():  # parents stand before their children
            if self._parents.get(key) in found and not one.is_gradient:
                found[key] = one
        return found

    @property
    def forward_ends(self) -> list[ObservedTensor]:
        """Return the last bad tensors of the forward pass: after them it was masked, or a gradient consumed it."""
        passed_on = {self._parents[key] for key in self.forward if key in self._parents}
        return [one for key, one in self.forward.items() if key not in passed_on]

    @property
    def only_in_gradient(self) -> bool:
        """Return whether the forward pass masked it, so that it did harm through a gradient only."""
        if self.origin.out.is_gradient or not any(one.is_gradient for one in self.reached.values()):
            return False
        sinks = {*self.variables.values(), *self.results, *self.refused, *self.raised}
        return bool(sinks) and not any(key in self.forward for key in sinks)

    @property
    def enters_product(self) -> bool:
        """Return whether an infinity went into a product of matrices, as data does and a mask does not."""
        for key, one in self.forward.items():
            parent = self.reached.get(self._parents[key]) if key in self._parents else None
            if parent is not None and not parent.has_nan and self._is_product(one):
                return True
        return False

    def _is_product(self, one: ObservedTensor) -> bool:
        """Return whether it is a layer's product, or an op that such a product was fused into."""
        fused = self._call_graphs.graph_of(one).fused_ops(one)
        types = (self._finder.process.catalogue.functions[at.function].nodes[number].type for at, number in fused)
        return one.op in LAYER_PRODUCTS or any(kind in LAYER_PRODUCTS for kind in types)

    # ---- from birth to symptom

    @property
    def path(self) -> list[ObservedTensor]:
        """Return the shortest path to the harm: to a result that Python got rather than to a variable."""
        results = [key for key in self.results if not self.reached[key].is_gradient]
        sinks = [*results, *self.variables.values(), *self.results, *self.refused, *self.raised]
        if not sinks:
            return []
        key: Key | None = sinks[0]
        way: list[ObservedTensor] = []
        while key is not None:
            way.insert(0, self.reached[key])
            key = self._parents.get(key)
        return way
