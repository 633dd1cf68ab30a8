"""The line that made or fed an input of a failed op, also if it holds integers, which have no rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorsleuth.core.catalog import EagerOp, FailedCall, Frame, Instance, Site
from tensorsleuth.core.ops.data_ops import EMBEDDING_LOOKUPS
from tensorsleuth.core.ops.indexing import INDEX_INPUTS
from tensorsleuth.core.ops.kinds import FEED, INPUT_OPS
from tensorsleuth.core.ops.views import VALUE_PRESERVING
from tensorsleuth.diagnose.exits.indexes.table_column import Column
from tensorsleuth.diagnose.exits.sized_tensor import SizedTensor, SizedTensors
from tensorsleuth.diagnose.inputs.dataset_lines import DatasetLines
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.value_flow import ValueSource
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo

MAX_HOPS = 60
_WRAPPED_SLOT = 2  # of where(ids < 0, ids + rows, ids)
NodePlace = tuple[Instance, int]  # a node of a function, by its number


@dataclass(frozen=True)
class InputOrigin:
    """The op that made the values of an input, with its line."""

    op: str
    name: str
    frame: Frame | None
    dataset: Frame | None = None  # that made the dataset, if it is of one
    column: Column | None = None  # the part of the batch or the argument, if it came in unchanged

    @property
    def is_data(self) -> bool:
        """Return whether it came from outside of TensorFlow."""
        return self.op == FEED or self.op.startswith(INPUT_OPS)

    @property
    def line(self) -> Frame | None:
        """Return the line to look at for wrong values: that of the data, where they are data."""
        return self.dataset if self.dataset is not None else self.frame

    def words(self, here: Frame | None) -> str:
        """`of the dataset of a.py:4`, `fed in a.py:7`, `made in a.py:9 (AddV2)`"""
        if self.line is None:
            return ""
        named = f"{self.column.words} " if self.column is not None and self.column.name else ""
        return named + self._place_words(here)

    def _place_words(self, here: Frame | None) -> str:
        assert self.line is not None
        place = f"{self.line.file}:{self.line.line}" if self.line != here else "the same line"
        if self.dataset is not None:
            return f"of the dataset of {place}"
        return f"fed in {place}" if self.op == FEED else f"{'taken' if self.is_data else 'made'} in {place} ({self.op})"


class InputOrigins:
    """Finds where the inputs of a failed op come from."""

    def __init__(self, process: ProcessTrace, failed_call: FailedCall, node: NodePlace | None) -> None:
        self._process, self._failed, self._node = process, failed_call, node
        self._graphs = CallGraphs(process)
        self._tensors = SizedTensors(process)

    def of_slot(self, slot: int) -> InputOrigin | None:
        """Return the origin of an input, behind casts, slices and reshapes; None if nothing is known of it."""
        if self._node is None:
            return self._of_argument(slot)
        slots = self._graphs.flow.input_sources(*self._node)
        found = self._of_source(slots[slot][0]) if slot < len(slots) and slots[slot] else None
        return found if found is not None and (found.frame is not None or found.dataset is not None) else None

    def looked_up(self) -> Iterator[Column]:
        """Yield the columns of the data that the function of the failed op looks up in tables."""
        function = self._process.catalogue.functions[self._node[0].function] if self._node is not None else None
        for number, node in enumerate(function.nodes if function is not None else ()):
            if self._node is None or node.type not in EMBEDDING_LOOKUPS:
                continue
            slots = self._graphs.flow.input_sources(self._node[0], number)
            slot = INDEX_INPUTS.get(node.type, 1)
            found = self._of_source(slots[slot][0]) if slot < len(slots) and slots[slot] else None
            if found is not None and found.column is not None:
                yield found.column

    def tensor(self, slot: int) -> SizedTensor | None:
        """Return an input with its shape and its line, or the variable that it is."""
        if self._node is None:
            uid = self._uid(slot)
            one = self._graphs.by_uid(uid) if uid is not None else None
            return self._tensors.of_observed(one) if one is not None else None
        slots = self._graphs.of_call(self._failed.call).node_inputs(*self._node, None)
        return self._tensors.of_observed(slots[slot][0]) if slot < len(slots) and slots[slot] else None

    def _of_source(self, source: ValueSource) -> InputOrigin | None:
        for _ in range(MAX_HOPS):
            tensor = self._process.tensor(source.tensor)
            column = Column.of_tensor(tensor, source.argument)
            if source.argument >= 0:
                origin = self._of_argument(source.argument)
                return replace(origin, column=column) if origin is not None else None
            if tensor is None or tensor.node is None or tensor.instance is None or tensor.function is None:
                return None
            slots = self._graphs.flow.input_sources(tensor.instance, tensor.function.number(tensor.node))
            slot = _WRAPPED_SLOT if tensor.type == "SelectV2" and self._is_wrapped(tensor, slots) else 0
            passes = tensor.type in VALUE_PRESERVING or slot == _WRAPPED_SLOT
            if not passes or slot >= len(slots) or not slots[slot]:
                origin = self._described(tensor.type, tensor.name, tensor.site, self._failed.call)
                return replace(origin, column=column)
            source = slots[slot][0]
        return None

    def _is_wrapped(self, tensor: TensorInfo, slots: list[list[ValueSource]]) -> bool:
        """Return whether a selection counts negative ids from the end, as Keras does, and keeps the others."""
        if len(slots) <= _WRAPPED_SLOT or not slots[0] or not slots[_WRAPPED_SLOT]:
            return False
        test = self._process.tensor(slots[0][0].tensor)
        if test is None or test.type != "Less" or test.instance is None or test.function is None or test.node is None:
            return False
        tested = self._graphs.flow.input_sources(test.instance, test.function.number(test.node))
        return bool(tested and tested[0]) and tested[0][0] == slots[_WRAPPED_SLOT][0]

    def _of_argument(self, at: int) -> InputOrigin | None:
        """Return the origin of a tensor that Python passed to the op or the function."""
        uid = self._uid(at)
        one = self._graphs.by_uid(uid) if uid is not None else None
        if one is not None:
            site = one.tensor.site
            return self._described(one.op, one.tensor.name, site, one.call)
        op = self._process.catalogue.eager.get(self._failed.makers[at]) if at < len(self._failed.makers) else None
        if op is None:
            return None
        site = self._process.catalogue.sites.get(op.site)
        before = self._input_of(op) if op.type in VALUE_PRESERVING else None
        return before if before is not None else self._described(op.type, op.type, site, self._failed.call)

    def _input_of(self, op: EagerOp) -> InputOrigin | None:
        """Return the origin of what an eager op has copied: the last time that it ran, it made the tensor."""
        calls = self._process.calls
        mine = calls["call"][(calls["op"] == op.id) & (calls["call"] < self._failed.call)]
        inputs = self._graphs.calls.inputs(int(mine.max())) if len(mine) else []
        one = self._graphs.by_uid(inputs[0]) if inputs else None
        return self._described(one.op, one.tensor.name, one.tensor.site, one.call) if one is not None else None

    def _uid(self, at: int) -> int | None:
        inputs = self._failed.uids or self._graphs.calls.inputs(self._failed.call)
        return inputs[at] if at < len(inputs) else None

    def _described(self, op: str, name: str, site: Site | None, call: int) -> InputOrigin:
        frame = site.frame if site is not None else None
        dataset = self._process.cached(DatasetLines).of_call(call) if op.startswith(INPUT_OPS) else None
        return InputOrigin(op, name, frame, dataset if dataset != frame else None)
