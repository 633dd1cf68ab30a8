"""The shapes in a function: as recorded, else propagated through its ops."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from tensorsleuth.core.catalog import Function, Instance, Node
from tensorsleuth.core.ops.elementwise import BROADCASTING_OPS, ELEMENTWISE_FUNCTIONS
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.ops.products import BATCH_MATMULS
from tensorsleuth.core.ops.views import SHAPE_PRESERVING_FUNCTIONS
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.trace.process.process import ProcessTrace

MAX_INFERENCE_DEPTH = 40  # ops that are looked through
Shape = tuple[int, ...]


class FunctionShapes:
    """The shapes in one instance of a function, each inferred once: most ops have several consumers."""

    def __init__(self, process: ProcessTrace, instance: Instance, function: Function) -> None:
        self._process, self._instance, self._function = process, instance, function
        self._known: dict[int, Shape | None] = {}
        self._depth = 0

    def shape_of(self, node: int) -> Shape | None:
        """Return the shape of a node's first output; an argument has a number below 0."""
        if node < 0:
            shapes = self._function.argument_shapes
            known = shapes[-1 - node] if -1 - node < len(shapes) else None
            return known if known is not None and min(known, default=1) >= 0 else None
        if node not in self._known:
            self._known[node] = None  # while it is inferred, since a hostile graph may have a cycle
            self._known[node] = self._recorded_or_inferred(self._function.nodes[node])
        return self._known[node]

    def integers(self, node: int) -> list[int] | None:
        """Return integers that are computed from constants and shapes."""
        return fold_constants(self._function, node, self.shape_of)

    def _recorded_or_inferred(self, node: Node) -> Shape | None:
        seen = self._recorded.get(self._instance.first_tensor + node.first_output)
        if seen is not None or self._depth > MAX_INFERENCE_DEPTH:
            return seen
        self._depth += 1
        try:
            return self._inferred(node)
        finally:
            self._depth -= 1

    @cached_property
    def _recorded(self) -> dict[int, Shape]:
        """Return the first recorded shape of each tensor."""
        events, first = self._process.events, self._instance.first_tensor
        numbers = events["tensor"]
        inside = np.flatnonzero((numbers >= first) & (numbers < first + self._function.tensors))
        tensors, at = np.unique(numbers[inside], return_index=True)  # of the numbers alone: rows take much more memory
        rows = events[inside[at]]
        shapes = ((int(tensor), self._process.shape_of(row)) for tensor, row in zip(tensors, rows, strict=True))
        return {tensor: shape for tensor, shape in shapes if shape is not None}

    def _inferred(self, node: Node) -> Shape | None:
        given = [self.shape_of(source) for source, _ in node.inputs]
        if node.type == "Const":
            shape = node.attrs.get("shape")
            return tuple(int(size) for size in shape) if isinstance(shape, (list, tuple)) else None
        if node.type in VARIABLE_READS:
            return self._variable_shape(node, given)
        if node.type in SHAPE_PRESERVING_FUNCTIONS or (node.type in ELEMENTWISE_FUNCTIONS and len(given) == 1):
            return given[0]
        if node.type == "Reshape":
            return reshaped(given[0], self.integers(node.inputs[1][0]))
        if node.type == "Transpose":
            order = self.integers(node.inputs[1][0])
            fits = given[0] is not None and order is not None and len(order) == len(given[0])
            return tuple(given[0][at] for at in order or ()) if fits and given[0] is not None else None
        if node.type == "ExpandDims":
            axis = self.integers(node.inputs[1][0])
            return _with_axis(given[0], axis[0]) if given[0] is not None and axis else None
        if node.type == "StridedSlice" and node.attrs.get("new_axis_mask"):
            return _with_new_axes(node, given[0]) if given[0] is not None else None
        known = [one for one in given if one is not None]
        if len(known) != len(given) or not known:
            return None
        return _combined_shape(node, known)

    def _variable_shape(self, node: Node, given: list[Shape | None]) -> Shape | None:
        """Return the shape read from a captured variable: all of it, or a row for each id."""
        captured = self._function.captures.get(-1 - node.inputs[0][0], {}).get("shape")
        shape = tuple(int(size) for size in captured) if isinstance(captured, (list, tuple)) else None
        if shape is None or node.type != "ResourceGather":
            return shape
        ids = given[1] if len(given) > 1 else None
        return (*ids, *shape[1:]) if ids is not None else None


class ProcessShapes:
    """The shapes in all functions of a process, each looked up once."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process, self._by_instance = process, dict[int, FunctionShapes]()

    def around_op(self, op_node: OpNode) -> FunctionShapes:
        """Return the shapes of the function that an op is in."""
        assert op_node.instance is not None
        assert op_node.function is not None
        if op_node.instance.id not in self._by_instance:
            self._by_instance[op_node.instance.id] = FunctionShapes(self._process, op_node.instance, op_node.function)
        return self._by_instance[op_node.instance.id]


def reshaped(given: Shape | None, target: list[int] | None) -> Shape | None:
    """Return the shape that a reshape makes, with -1 in its target worked out."""
    if target is None or given is None:
        return tuple(target) if target is not None and min(target, default=1) >= 0 else None
    others = math.prod(size for size in target if size >= 0)
    if target.count(-1) == 1 and others:
        target = [math.prod(given) // others if size < 0 else size for size in target]
    return tuple(target) if math.prod(target) == math.prod(given) else None


def _with_axis(shape: Shape, axis: int) -> Shape:
    at = axis if axis >= 0 else len(shape) + 1 + axis
    return (*shape[:at], 1, *shape[at:])


def _with_new_axes(node: Node, shape: Shape) -> Shape | None:
    """Return the shape after `mask[:, None, :]`, if nothing is cut."""
    new, begin, end = (int(node.attrs.get(name) or 0) for name in ("new_axis_mask", "begin_mask", "end_mask"))
    if node.attrs.get("shrink_axis_mask") or node.attrs.get("ellipsis_mask"):
        return None
    for at in range(new.bit_length()):
        if new >> at & 1:
            shape = _with_axis(shape, at)
        elif not begin >> at & end >> at & 1:
            return None
    return shape


def _combined_shape(node: Node, given: list[Shape]) -> Shape | None:
    """Return the shape of an op that needs the shapes of all its inputs."""
    if node.type in BROADCASTING_OPS:
        try:
            return tuple(np.broadcast_shapes(*given))
        except ValueError:
            return None
    if node.type in BATCH_MATMULS and len(given) == 2 and min(map(len, given)) >= 2:
        left, right = given
        row = left[-1 if node.attrs.get("adj_x") else -2]
        return (*max(left[:-2], right[:-2], key=len), row, right[-2 if node.attrs.get("adj_y") else -1])
    if node.type == "Einsum" and len(given) == 2:
        taken, made = einsum_letters(node)
        sizes = {letter: size for names, shape in zip(taken, given, strict=True) for letter, size in zip(names, shape)}
        return tuple(sizes[letter] for letter in made) if made and all(letter in sizes for letter in made) else None
    if node.type == "MatMul" and not node.attrs.get("transpose_a"):
        return (given[0][0], given[1][0 if node.attrs.get("transpose_b") else -1])
    if node.type == "GatherV2":
        return (*given[1], *given[0][1:]) if not node.attrs.get("batch_dims") else None
    if node.type == "Unpack":
        at = int(node.attrs.get("axis") or 0) % len(given[0])
        return given[0][:at] + given[0][at + 1 :]
    return None


def einsum_letters(node: Node) -> tuple[list[str], str]:
    """Return the axes of an einsum, as `bqhd,bkhd->bhqk`; empty if it has an ellipsis."""
    taken, _, made = str(node.attrs.get("equation", "")).replace(" ", "").partition("->")
    names = taken.split(",")
    return (names, made) if "." not in taken and len(names) == 2 else (["", ""], "")
