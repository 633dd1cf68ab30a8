"""A tensor with its shape, its line and what it was computed from, wherever that is known from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tensorsleuth.core.catalog import Frame, Instance, Node, Site
from tensorsleuth.core.ops.kinds import FEED, INPUT_OPS, VARIABLE_OPS, VARIABLE_READS, VIEWS, writes_variables
from tensorsleuth.diagnose.exits.refusals.argument_lines import argument_line
from tensorsleuth.diagnose.graph.shapes import FunctionShapes, reshaped
from tensorsleuth.trace.dataflow.call_graph import CallGraphs, Slots
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.variables import VariableIndex
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.refusal import CAPTURED, VARIABLE, Refusal, RefusedTensor, Sizes

MAX_VIEWS = 20  # between a node and a tensor that has a row
RESHAPE = "Reshape"
_ASSIGN = "AssignVariableOp"
_HANDLE = "VarHandleOp"


@dataclass(frozen=True)
class SizedTensor:
    """One of the tensors that met, or one that led to it."""

    op: str
    name: str
    shape: Sizes | None
    frame: Frame | None
    handle: int = 0  # of a variable, if it is one of eager code
    _inputs: Callable[[], list[SizedTensor]] = field(default=list, repr=False, compare=False)
    caller: Frame | None = field(default=None, compare=False)  # the line that chose its number of rows, if another

    @property
    def is_variable(self) -> bool:
        return self.op == VARIABLE

    @property
    def inputs(self) -> list[SizedTensor]:
        return self._inputs()

    def words(self, here: Frame | None) -> str:
        """Return its shape, with the name of a variable, and its line if that is another: `w2 [100, 10] of a.py:9`."""
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape or ())
        name = f"{self.name} " if self.is_variable and self.name else ""
        is_elsewhere = self.frame is not None and self.frame != here
        line = f" of {self.frame.file}:{self.frame.line}" if is_elsewhere and self.frame is not None else ""
        return f"{name}[{sizes}]{line}"


class SizedTensors:
    """Finds tensors in the recording of a process."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self._call_graphs = CallGraphs(process)
        self._variables = VariableIndex(self._call_graphs)

    def of_refusal(self, refusal: Refusal) -> list[SizedTensor]:
        """Return the tensors that were refused."""
        return [self._refused(refusal, refusal.nodes[number]) for number in refusal.operands]

    def of_observed(self, one: ObservedTensor) -> SizedTensor:
        """Return a tensor of the recording."""
        site = one.tensor.site
        frame = site.frame if site is not None else None
        handle = self._handle(one)
        if handle:
            return self._variable(handle, "", one.shape if one.op in VARIABLE_READS else None)
        name = "data" if one.op == FEED else one.tensor.name
        shape = one.shape if one.shape is not None else _constant_shape(one)
        return SizedTensor(one.op, name, shape, frame, 0, lambda: self._inputs(one), self._caller(site, shape))

    @cached_property
    def variable_shapes(self) -> dict[int, Sizes]:
        """Return the shapes of the variables that eager code gave their first values, by handle."""
        calls = self._process.calls
        writers = [op.id for op in self._process.catalogue.eager.values() if op.type == _ASSIGN]
        found: dict[int, Sizes] = {}
        for row in calls[np.isin(calls["op"], writers) & (calls["inputs_count"] > 1)]:
            handle, value = int(row["inputs"][0]), self._call_graphs.by_uid(int(row["inputs"][1]))
            if handle not in found and value is not None and value.shape is not None:
                found[handle] = value.shape
        return found

    def has_met(self, op: str, frame: Frame, rows: int) -> bool:
        """Return whether a batch of the data had so many rows, or what an op of this type gave in a line."""
        events = self._process.events
        infos = {int(tensor): self._process.tensor(tensor) for tensor in np.unique(events["tensor"])}
        known = [
            number
            for number, info in infos.items()
            if info is not None and (info.type in INPUT_OPS or (info.type == op and _is_of_line(info.site, frame)))
        ]
        shapes = (self._process.shape_of(row) for row in events[np.isin(events["tensor"], known)])
        return any(shape and shape[0] == rows for shape in shapes)

    def differentiated(self, instance: Instance, number: int) -> tuple[str, int] | None:
        """Return the type and the number of the op that a node differentiates, if both are in the same function."""
        function = self._process.catalogue.functions[instance.function]
        forward = function.nodes[number].forward
        found = (at for at, node in enumerate(function.nodes) if forward is not None and node.name == forward.name)
        at = next(found, None)
        return (function.nodes[at].type, at) if at is not None else None

    def has_worked(self, handle: int) -> bool:
        """Return whether a variable was used more than once: by another call than the one that failed."""
        used = (
            (self._call_graphs.calls.op(call) for call in self._call_graphs.calls.consumers(handle)) if handle else ()
        )
        return sum(op is not None and not writes_variables(op.type) for op in used) > 1

    def _handle(self, one: ObservedTensor) -> int:
        if one.op in VARIABLE_READS:
            return self._variables.handle_of(one) or 0
        from_row = one.op == _HANDLE and one.row is not None
        return int(one.row["iteration"]) | int(one.row["frame"]) << 32 if from_row and one.row is not None else 0

    def _variable(self, handle: int, name: str, shape: Sizes | None) -> SizedTensor:
        frame = self._variables.creation_line(handle)
        shape = shape if shape is not None else self.variable_shapes.get(handle)
        return SizedTensor(VARIABLE, self._variables.name(handle) if frame is not None else name, shape, frame, handle)

    def _inputs(self, one: ObservedTensor) -> list[SizedTensor]:
        slots = self._call_graphs.graph_of(one).inputs_of(one)
        if one.tensor.node is None or one.tensor.instance is None:
            return [self.of_observed(slot[0]) for slot in slots if slot]
        return self._behind_views(one.tensor.instance, one.tensor.node, slots)

    def of_inputs(self, instance: Instance, number: int, call: int) -> list[SizedTensor]:
        """Return the recorded inputs of a node of a function."""
        node = self._process.catalogue.functions[instance.function].nodes[number]
        return self._behind_views(instance, node, self._call_graphs.of_call(call).node_inputs(instance, number, None))

    def _behind_views(self, instance: Instance, node: Node, slots: Slots) -> list[SizedTensor]:
        """Return the inputs of a node; an op that only moves values has no row, but a reshape has a line."""
        pairs = zip(node.inputs, slots)
        return [self._reshaped(instance, source, self.of_observed(slot[0])) for (source, _), slot in pairs if slot]

    def _reshaped(self, instance: Instance, source: int, given: SizedTensor) -> SizedTensor:
        """Return the nearest reshape between a node and a tensor that has a row; else that tensor."""
        function = self._process.catalogue.functions[instance.function]
        for _ in range(MAX_VIEWS):
            node = function.nodes[source] if source >= 0 else None
            if node is None or node.type not in VIEWS or not node.inputs:
                return given
            if node.type == RESHAPE:
                break
            source = node.inputs[0][0]
        else:
            return given
        target = FunctionShapes(self._process, instance, function).integers(node.inputs[1][0])
        known = given.shape if given.shape is not None and None not in given.shape else None
        shape = reshaped(tuple(size for size in known if size is not None), target) if known is not None else None
        site = self._process.catalogue.sites.get(node.site)
        return SizedTensor(RESHAPE, node.name, shape, site.frame if site is not None else None, 0, lambda: [given])

    def _caller(self, site: Site | None, shape: Sizes | None) -> Frame | None:
        return argument_line(self._process, site, shape[0]) if shape else None

    def _refused(self, refusal: Refusal, node: RefusedTensor) -> SizedTensor:
        if node.op == CAPTURED:
            return self._refused(refusal, refusal.nodes[node.inputs[0]]) if node.inputs else _unknown(node)
        if node.op in VARIABLE_OPS and node.uid:
            return self._variable(node.uid, node.name, node.shape)
        eager = self._call_graphs.by_uid(node.uid) if node.uid else None
        if eager is not None:
            found = self.of_observed(eager)
            return found if found.is_variable else replace(found, shape=node.shape)
        site = self._process.catalogue.sites.get(node.site)
        frame = site.frame if site is not None else None
        op = VARIABLE if node.op in VARIABLE_OPS else node.op
        inputs = [refusal.nodes[number] for number in node.inputs]

        def before() -> list[SizedTensor]:
            return [self._refused(refusal, one) for one in inputs]

        return SizedTensor(op, node.name, node.shape, frame, 0, before, self._caller(site, node.shape))


def _constant_shape(one: ObservedTensor) -> Sizes | None:
    """Return the shape of a constant of a function, which has no row."""
    node = one.tensor.node
    shape = node.attrs.get("shape") if node is not None and node.type == "Const" else None
    return tuple(int(size) for size in shape) if isinstance(shape, list | tuple) else None


def _is_of_line(site: Site | None, frame: Frame) -> bool:
    here = site.frame if site is not None else None
    return here is not None and (here.file, here.line) == (frame.file, frame.line)


def _unknown(node: RefusedTensor) -> SizedTensor:
    return SizedTensor(node.op, node.name, node.shape, None)
