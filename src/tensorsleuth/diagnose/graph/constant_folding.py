"""Integers that a graph computes from constants, such as an order of axes: TensorFlow folds them."""

from __future__ import annotations

import math
from collections.abc import Callable

from tensorsleuth.core.catalog import Function, Node

MAX_DEPTH = 20
MAX_LENGTH = 64  # more is no list of axes
Numbers = list[int]
ShapeOf = Callable[[int], tuple[int, ...] | None]  # of what a node puts out, where that was seen


def fold_constants(function: Function, node: int, shape_of: ShapeOf | None = None) -> Numbers | None:
    """Return the numbers that a node puts out, or None if they are not known before it runs."""
    return _Folding(function, shape_of).numbers(node, 0)


class _Folding:
    """Folds each node once, however many nodes take it: a hostile graph doubles its lists at every node."""

    def __init__(self, function: Function, shape_of: ShapeOf | None) -> None:
        self._function, self._shape_of = function, shape_of
        self._known: dict[int, Numbers | None] = {}

    def numbers(self, node: int, depth: int) -> Numbers | None:
        if node < 0 or depth > MAX_DEPTH:
            return None
        if node not in self._known:
            self._known[node] = None  # while it is found out: a graph may go round in circles
            self._known[node] = _if_axes(self._fold(self._function.nodes[node], depth))
        return self._known[node]

    def _fold(self, node: Node, depth: int) -> Numbers | None:
        if node.type == "Const":
            return _constant(node.attrs.get("value"))
        if node.type == "Shape":
            sizes = self._shape_of(node.inputs[0][0]) if self._shape_of is not None else None
            return list(sizes) if sizes is not None else None
        compute = _FOLDABLE_OPS.get(node.type)
        takes = node.inputs if compute is not None or node.type == "StridedSlice" else ()
        given = [self.numbers(source, depth + 1) for source, _ in takes]
        known = [one for one in given if one is not None]
        if len(known) != len(given) or not known:
            return None
        return compute(known) if compute is not None else _strided_slice(node, known)


def _if_axes(numbers: Numbers | None) -> Numbers | None:
    """None for what is no list of axes or sizes: too long, or too large for TensorFlow's integers."""
    if numbers is None or len(numbers) > MAX_LENGTH or any(abs(number) >> 63 for number in numbers):
        return None
    return numbers


def _strided_slice(node: Node, given: list[Numbers]) -> Numbers | None:
    """A slice of a list, or one of its numbers."""
    numbers, begin, end, stride = given if len(given) == 4 else ([], [], [], [])
    if len(begin) != 1 or len(end) != 1 or len(stride) != 1 or not stride[0]:
        return None
    first = None if node.attrs.get("begin_mask") else begin[0]
    if node.attrs.get("shrink_axis_mask"):
        return [numbers[begin[0]]] if -len(numbers) <= begin[0] < len(numbers) else None
    return numbers[first : None if node.attrs.get("end_mask") else end[0] : stride[0]]


def _constant(value: object) -> Numbers | None:
    try:
        return [int(str(one)) for one in value] if isinstance(value, (list, tuple)) else None
    except ValueError:  # floats, texts
        return None


def _range(given: list[Numbers]) -> Numbers | None:
    if len(given) != 3 or any(len(one) != 1 for one in given) or not given[2][0]:
        return None
    (start,), (end,), (step,) = given
    return list(range(start, end, step)[:MAX_LENGTH])


def _elementwise(combine: Callable[[int, int], int]) -> Callable[[list[Numbers]], Numbers | None]:
    def apply(given: list[Numbers]) -> Numbers | None:
        left, right = given if len(given) == 2 else ([], [])
        if len(right) == 1:
            right = right * len(left)
        return [combine(a, b) for a, b in zip(left, right, strict=True)] if len(left) == len(right) else None

    return apply


def _gather(numbers: Numbers, which: Numbers) -> Numbers | None:
    return [numbers[at] for at in which] if all(0 <= at < len(numbers) for at in which) else None


_FOLDABLE_OPS: dict[str, Callable[[list[Numbers]], Numbers | None]] = {
    "Range": _range,
    "Pack": lambda given: [number for one in given for number in one],
    "ConcatV2": lambda given: [number for one in given[:-1] for number in one],  # the last says along which axis
    "GatherV2": lambda given: _gather(given[0], given[1]),
    "Prod": lambda given: [math.prod(given[0])],
    "Mul": _elementwise(lambda a, b: a * b),
    "FloorDiv": _elementwise(lambda a, b: a // b if b else 0),
    "Cast": lambda given: given[0],
    "Sub": _elementwise(lambda a, b: a - b),
    "AddV2": _elementwise(lambda a, b: a + b),
    "Identity": lambda given: given[0],
}
