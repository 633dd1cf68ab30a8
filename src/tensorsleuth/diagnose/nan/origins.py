"""Finds where bad values are born: a bad tensor whose inputs were healthy, or a NaN made of infinities.

An infinity that the program wrote down itself (a mask, a first value for a running minimum) is no birth: it is meant.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.catalog import EagerOp, Instance
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.core.ops.kinds import CARRIERS, EXTERNAL_SOURCES, HAND_OUTS, INPUT_OPS, VARIABLE_READS
from tensorsleuth.diagnose.nan.masked_logits import infinite_loss_logits
from tensorsleuth.trace.dataflow.call_graph import CallGraph, CallGraphs, Slots
from tensorsleuth.trace.dataflow.dataset_pipelines import DatasetPipelines
from tensorsleuth.trace.dataflow.gaps import RowGaps
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.replicas import Replicas
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.process.process import ProcessTrace

MAX_CALLS = 300  # with something newly bad, that are looked at
MAX_ORIGINS_PER_TENSOR = 4  # of one tensor


@dataclass(frozen=True)
class Origin:
    """A bad tensor with healthy inputs."""

    call_graph: CallGraph
    out: ObservedTensor
    slots: Slots
    is_behind_gap: bool = False  # rows of its inputs may have been overwritten, so it may have come from before

    @property
    def inputs(self) -> list[ObservedTensor]:
        return [one for slot in self.slots for one in slot]

    @property
    def from_outside(self) -> bool:
        """Return whether it came from outside of TensorFlow: no op computed it."""
        return self.out.op in EXTERNAL_SOURCES

    @property
    def from_infinity(self) -> bool:
        """Return whether it is a NaN computed from earlier infinities."""
        return any(one.bad for one in self.inputs)


class OriginFinder:
    """Looks through the calls of a process, oldest first."""

    def __init__(self, process: ProcessTrace) -> None:
        self.process = process
        self.call_graphs = CallGraphs(process)
        self.variables = VariableIndex(self.call_graphs)
        self._has_bad_elements: dict[int, bool] = {}  # of calls that read datasets

    @cached_property
    def _gaps(self) -> RowGaps | None:
        return RowGaps(self.call_graphs, self.variables) if self.process.gap_times else None

    @cached_property
    def pipelines(self) -> DatasetPipelines:
        return DatasetPipelines(self.call_graphs)

    @cached_property
    def replicas(self) -> Replicas:
        return Replicas(self.process)

    def find(self) -> Iterator[Origin]:
        """Yield the origins in each tensor, in the order of the calls; only a few if it has many, as in a loop."""
        born: Counter[tuple[int, int]] = Counter()
        for moment in itertools.islice(self._bad_call_graphs(), MAX_CALLS):
            for birth in self.origins_in(moment):
                tensor = birth.out.key[1:3] if birth.out.row is None else (birth.out.key[1], 0)
                born[tensor] += 1
                if born[tensor] <= (MAX_ORIGINS_PER_TENSOR if birth.out.row is not None else 1):
                    yield birth

    @cached_property
    def bad_batches(self) -> list[ObservedTensor]:
        """Return the first bad tensors that a dataset passed to the program."""
        rows = (row for row in self._first_bad_rows if self._type(row).startswith(INPUT_OPS))
        calls = (self.process.call_of(row) for row in rows)
        found = (
            one for call in calls if call is not None for one in self.call_graphs.of_call(call).bad_tensors.values()
        )
        return [one for one in found if one.op.startswith(INPUT_OPS)]

    @cached_property
    def returned_tensors(self) -> set[int]:
        """Return the ids of tensors that a function returns to its outermost caller."""
        catalogue = self.process.catalogue
        roots = [one for one in catalogue.instances.values() if one.parent < 0 and one.function in catalogue.functions]
        return {
            source.tensor
            for root in roots
            for output in range(len(catalogue.functions[root.function].returns))
            for source in self.call_graphs.flow.output_sources(root, output)
        }

    def is_shown(self, one: ObservedTensor, call_graph: CallGraph) -> bool:
        """Does an op of a function show or store it, in a branch that ran."""
        shown = self._shown_tensors.get(int(one.row["tensor"]), []) if one.row is not None else []
        return any(self.variables.did_run(instance, call_graph) for instance in shown)

    @cached_property
    def _shown_tensors(self) -> dict[int, list[Instance]]:
        """By their ids: where ops show or store tensors inside functions."""
        shown: dict[int, list[Instance]] = defaultdict(list)
        for instance, function in self.process.catalogue.called_functions():
            for number, node in enumerate(function.nodes):
                slots = self.call_graphs.flow.input_sources(instance, number) if node.type in HAND_OUTS else []
                for source in itertools.chain.from_iterable(slots):
                    shown[source.tensor].append(instance)
        return shown

    def datasets_behind(self, one: ObservedTensor) -> list[tuple[EagerOp, int]]:
        """Return the datasets that a batch, or an argument of a dataset's function, passed through; the source last."""
        if one.op.startswith("IteratorGetNext"):
            iterator = self.variables.handle_of(one)
            return self.pipelines.of_batch(iterator) if iterator is not None else []
        if one.op == "Argument" and one.call < 0 and one.tensor.instance is not None:
            return self.pipelines.of_function(one.tensor.instance)
        return []

    def is_last_step(self, call: int) -> bool:
        """Return whether the call belongs to the last step of the program."""
        last = int(self.process.calls["step"].max(initial=-1))
        return (self.call_graphs.calls.step(call) or 0) >= last

    def _type(self, row: Any) -> str:
        tensor = self.process.tensor(row["tensor"])
        return tensor.type if tensor is not None else ""

    def origins_in(self, call_graph: CallGraph) -> Iterator[Origin]:
        yield from (Origin(call_graph, one, []) for one in self._bad_constants(call_graph))
        for key, one in call_graph.bad_tensors.items():
            birth = self._origin(call_graph, one, call_graph.bad_inputs[key])
            if birth is not None:
                yield replace(birth, is_behind_gap=self._gaps is not None and self._gaps.hide_inputs(one))

    def _bad_constants(self, call_graph: CallGraph) -> list[ObservedTensor]:
        """Return the arrays that were bad when tracing made constants of them."""
        taken = (one for slots in call_graph.bad_inputs.values() for slot in slots for one in slot)
        constants = {one.key: one for one in taken if one.constant is not None and one.bad}
        return [one for one in constants.values() if not (is_literal(one) or _is_table(one))]

    def _origin(self, call_graph: CallGraph, one: ObservedTensor, slots: Slots) -> Origin | None:
        bad = [other for slot in slots for other in slot if other.bad]
        if not bad:
            if (
                one.op in CARRIERS
                or is_literal(one)
                or self._is_from_bad_source(one)
                or self._is_from_bad_element(one)
                or self._is_reduced_dataset(call_graph, one)
            ):
                return None
            return self._origin_of_write(one) if one.op in VARIABLE_READS else Origin(call_graph, one, slots)
        if _is_new_infinity(one, bad) or self._is_infinite_loss(one, bad):
            return Origin(call_graph, one, slots)
        if not one.has_nan or any(other.has_nan for other in bad):
            return None
        return Origin(call_graph, one, slots) if all(self._is_intended(other) for other in bad) else None

    def _is_infinite_loss(self, one: ObservedTensor, bad: list[ObservedTensor]) -> bool:
        """Return whether it is the loss of labels whose logits the program masked with −∞."""
        if infinite_loss_logits(self.call_graphs, one) is None:
            return False
        return all(self._is_intended(other) for other in bad)

    def _is_from_bad_source(self, one: ObservedTensor) -> bool:
        """Was a dataset behind it made of bad tensors."""
        datasets = self.datasets_behind(one)
        return bool(datasets) and any(fed.bad for fed in self.pipelines.source_tensors(datasets))

    def _is_reduced_dataset(self, call_graph: CallGraph, one: ObservedTensor) -> bool:
        """Return whether it only passes on a bad result of a dataset's function."""
        steps = self.process.dataset_steps
        return one.op == "ReduceDataset" and any(
            other.row is not None and int(other.row["step"]) in steps for other in call_graph.bad_tensors.values()
        )

    def _is_from_bad_element(self, one: ObservedTensor) -> bool:
        """Return whether it was computed from elements that were bad when they entered the dataset."""
        if one.row is None or int(one.row["step"]) not in self.process.dataset_steps:
            return False
        if one.call not in self._has_bad_elements:
            behind = self.pipelines.upstream_datasets(self.call_graphs.calls.inputs(one.call))
            self._has_bad_elements[one.call] = any(fed.bad for fed in self.pipelines.source_tensors(list(behind)))
        return self._has_bad_elements[one.call]

    @cached_property
    def bad_elements(self) -> list[ObservedTensor]:
        """Return the first tensors that dataset functions computed from bad elements, if they ran inside a call."""
        calls = dict.fromkeys(self.process.dataset_steps.values())
        moments = (self.call_graphs.of_call(call) for call in itertools.islice(calls, MAX_CALLS))
        found = ((moment, key, one) for moment in moments for key, one in moment.bad_tensors.items())
        return [
            one
            for moment, key, one in found
            if not any(other.bad for slot in moment.bad_inputs[key] for other in slot)
            and self._is_from_bad_element(one)
        ]

    def _is_intended(self, one: ObservedTensor, depth: int = 0) -> bool:
        """Return whether an infinity comes from one in the source."""
        if depth > 50 or one.has_nan:
            return False
        slots = self.call_graphs.graph_of(one).inputs_of(one) if one.row is not None else []
        bad = [other for slot in slots for other in slot if other.bad]
        if bad:
            return not _is_new_infinity(one, bad) and all(self._is_intended(other, depth + 1) for other in bad)
        if one.op in VARIABLE_READS:
            return self._read_is_intended(one, depth)
        return is_literal(one) or _is_table(one)

    def _read_is_intended(self, one: ObservedTensor, depth: int) -> bool:
        handle = self.variables.handle_of(one)
        write = self.variables.last_write(handle, one.call) if handle is not None else None
        bad = [value for value in write.values if value.bad] if write is not None else []
        return bool(bad) and all(self._is_intended(value, depth + 1) for value in bad)

    def _origin_of_write(self, one: ObservedTensor) -> Origin | None:
        """Return the origin of a variable that is read bad: its last write, even with finite inputs."""
        handle = self.variables.handle_of(one)
        if handle is not None and any(
            value.bad for write in self.variables.writes(one.call, handle) for value in write.values
        ):
            return None  # written by the call itself, before it was read
        write = self.variables.last_write(handle, one.call) if handle is not None else None
        if write is None:
            return Origin(self.call_graphs.graph_of(one), one, [])
        if any(value.bad for value in write.values):
            return None  # found, or meant, where that was born
        return Origin(self.call_graphs.of_call(write.call), one, write.slots)

    def _bad_call_graphs(self) -> Iterator[CallGraph]:
        """Yield the calls in which a tensor first went bad, in recorded order."""
        seen: set[int] = set()
        for row in self._first_bad_rows:
            step = int(row["step"])
            call = step if row["kind"] == EventKind.EAGER else self.process.call_of_tf_step.get(step)
            key = call if call is not None else -1 - step
            if key not in seen:
                seen.add(key)
                yield self.call_graphs.of_call(call) if call is not None else self.call_graphs.of_dataset(step)

    @cached_property
    def _first_bad_rows(self) -> list[Any]:
        """Return each tensor's first bad row, first row with a NaN, and first row with each infinity."""
        if not self.process.has_bad:
            return []
        events = self.process.events
        bad = events[np.flatnonzero(events["flags"] & EventFlag.BAD)]
        firsts = [np.unique(bad["tensor"], return_index=True)[1]]
        for kind in ("nan", "pos_inf", "neg_inf"):
            some = np.flatnonzero(bad[kind])
            firsts.append(some[np.unique(bad["tensor"][some], return_index=True)[1]])
        return list(bad[np.unique(np.concatenate(firsts))])


def _is_new_infinity(one: ObservedTensor, bad: list[ObservedTensor]) -> bool:
    """Return whether it is +∞ from an op that turns −∞ into 0."""
    return (
        one.op in ("Exp", "Expm1", "Softplus")
        and one.count("pos_inf") > 0
        and not any(o.has_nan or o.count("pos_inf") for o in bad)
    )


def is_literal(one: ObservedTensor) -> bool:
    """Return whether an infinity is written in the source: alone, or beside one other number, as in a mask."""
    if one.has_nan or one.op not in (*EXTERNAL_SOURCES, "Const", "Fill"):
        return False
    finite = one.count("neg") + one.count("zero") + one.count("pos")
    return one.elements == 1 or not finite or one.min == one.max


def _is_table(one: ObservedTensor) -> bool:
    """Return whether it is an input table with −∞ for the impossible, such as log probabilities."""
    return one.op in (*EXTERNAL_SOURCES, "Const") and not one.has_nan and not one.count("pos_inf")
