"""The path of time, heads and features from the projections of an attention to its products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorsleuth.core.catalog import Node
from tensorsleuth.core.ops.elementwise import BASIC_ARITHMETIC
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.ops.views import AXIS_OPS, SHAPE_PRESERVING_ARITHMETIC, SPLITS
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps
from tensorsleuth.diagnose.attention.heads.axis_provenance import (
    Axis,
    has_origin,
    initial_axes,
    reshape_axes,
    size_of_origin,
    transpose_axes,
)
from tensorsleuth.diagnose.attention.heads.op_axes import (
    contracted_axis,
    data_slot,
    head_and_query_axes,
    key_axis,
    row_axis,
    slice_axes,
    split_axes,
)
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import ProcessShapes, Shape
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph

MAX_HOPS_TO_PROJECTION = 16  # ops
BATCH, TIME, FEATURES = range(3)  # axes of what a projection makes


@dataclass(frozen=True)
class MixingReshape:
    """A reshape that mixes positions with heads."""

    reshape: OpNode
    before: Shape
    after: Shape
    is_merge: bool
    also: tuple[OpNode, ...] = ()  # reshapes of keys and values that do the same


class HeadAxes:
    """The axes of one attention."""

    def __init__(self, training_graph: TrainingGraph, one: AttentionOps) -> None:
        assert one.softmax.function is not None
        assert one.softmax.instance is not None
        self._training, self._attention, self._function = training_graph, one, one.softmax.function
        self._instance = one.softmax.instance
        self._shapes = training_graph.process.cached(ProcessShapes).around_op(one.softmax)

    def mixing_reshapes(self) -> Iterator[MixingReshape]:
        """Yield the places where heads are split wrongly, or merged wrongly."""
        splits = [one for one in self._splits() if one is not None]
        if splits:
            yield replace(splits[0], also=tuple(one.reshape for one in splits[1:]))
        yield from self._merges(self._attention.weighted_sums[0].op_node)

    # ---- from the projections to the scores

    def _splits(self) -> Iterator[MixingReshape | None]:
        """Yield the splits of queries, keys and values."""
        scores, product = (
            self._function.nodes[self._attention.scores.node_index],
            self._attention.weighted_sums[0].op_node,
        )
        for slot in (0, 1):
            yield self._split(scores.inputs[slot][0], row_axis(scores, slot))
        taking, weights = self._function.nodes[product.node_index], self._weights_slot(product)
        if weights >= 0:
            yield self._split(taking.inputs[1 - weights][0], key_axis(taking, 1 - weights))

    def _split(self, operand: int, row: int | None) -> MixingReshape | None:
        way = self._path_from_projection(operand) if row is not None else None
        start = self._path_start(way) if way else None
        if start is None or way is None or row is None:
            return None
        at, shape = start
        axes: list[Axis] | None = initial_axes(shape)
        culprit: MixingReshape | None = None
        for number in way[at + 1 :]:
            before = tuple(_size(axis) for axis in axes or ())
            axes = self._axes_after(axes, number) if axes is not None else None
            if axes is not None and culprit is None and any(_is_mixed(axis) for axis in axes):
                after = tuple(_size(axis) for axis in axes)
                culprit = MixingReshape(self._spot(number), before, after, False)
        if axes is None or culprit is None or not -len(axes) <= row < len(axes):
            return None
        rows = axes[row]
        is_wrong = (
            has_origin(rows, FEATURES)
            and size_of_origin(rows, TIME) != shape[TIME]
            and culprit.reshape.type == "Reshape"
        )
        return culprit if is_wrong else None

    def _path_start(self, way: list[int]) -> tuple[int, Shape] | None:
        """Return where [batch, time, features] begins on the path: a matrix product has its rows split again."""
        shapes = [self._shapes.shape_of(number) for number in way[:2]]
        if not shapes or shapes[0] is None:
            return None
        again = len(shapes) == 2 and len(shapes[0]) == 2 and self._function.nodes[way[1]].type == "Reshape"
        if again and shapes[1] is not None and len(shapes[1]) == 3 and shapes[1][-1] == shapes[0][-1]:
            return 1, shapes[1]
        return (0, shapes[0]) if len(shapes[0]) == 3 else None

    def _path_from_projection(self, node: int, depth: int = 0) -> list[int] | None:
        """The nodes from the projection to this one."""
        if node < 0 or depth > MAX_HOPS_TO_PROJECTION:
            return None
        described = self._function.nodes[node]
        if described.type in LAYER_PRODUCTS and self._training.takes_weights(self._spot(node)):
            return [node]
        if described.type not in AXIS_OPS:
            return None
        sources = described.inputs if described.type in BASIC_ARITHMETIC else [described.inputs[data_slot(described)]]
        ways = (self._path_from_projection(source, depth + 1) for source, _ in sources)
        found = next((way for way in ways if way is not None), None)
        return [*found, node] if found is not None else None

    # ---- from the values to the projection behind them

    def _merges(self, product: OpNode) -> Iterator[MixingReshape]:
        shape, places = (
            self._shapes.shape_of(product.node_index),
            head_and_query_axes(self._function.nodes[product.node_index], self._weights_slot(product)),
        )
        if shape is None or places is None or len(shape) < 4:  # [batch, heads, time, depth]: of three, none is of heads
            return
        heads, time = (at % len(shape) for at in places)
        for way in self._paths_to_projection(product.node_index):
            axes: list[Axis] | None = initial_axes(shape)
            for number in way[:-1]:
                axes = self._axes_after(axes, number) if axes is not None else None
            inner = contracted_axis(self._function.nodes[way[-1]], axes) if axes is not None else None
            if inner is not None and _is_torn(inner, (heads, shape[heads]), (time, shape[time])):
                reshape = next((at for at in way if self._function.nodes[at].type == "Reshape"), None)
                after = self._shapes.shape_of(reshape) if reshape is not None else None
                if reshape is not None and after is not None:
                    yield MixingReshape(self._spot(reshape), shape, after, True)
            return

    def _weights_slot(self, product: OpNode) -> int:
        """Return which operand holds the weights: the one that comes from the softmax."""
        nodes = self._function.nodes
        for slot, (source, _) in enumerate(nodes[product.node_index].inputs):
            for _ in range(MAX_HOPS_TO_PROJECTION):
                if source == self._attention.softmax.node_index:
                    return slot
                if source < 0 or not nodes[source].inputs or nodes[source].type in LAYER_PRODUCTS:
                    break
                source = nodes[source].inputs[0][0]
        return -1

    def _paths_to_projection(self, node: int, depth: int = 0) -> Iterator[list[int]]:
        """The nodes after this one, to a projection."""
        for number in (
            self._training.call_graphs.flow.consumers(self._function, node) if depth <= MAX_HOPS_TO_PROJECTION else ()
        ):
            user = self._spot(number)
            if user.is_gradient:
                continue
            if user.type in LAYER_PRODUCTS and self._training.takes_weights(user):
                yield [number]
            elif user.type in AXIS_OPS - SPLITS:
                yield from ([number, *rest] for rest in self._paths_to_projection(number, depth + 1))

    # ---- one op

    def _axes_after(self, axes: list[Axis], number: int) -> list[Axis] | None:
        """Return the axes after an op; None if that is not known."""
        node = self._function.nodes[number]
        if node.type in SHAPE_PRESERVING_ARITHMETIC:
            return axes if self._shapes.shape_of(number) in (None, tuple(_size(axis) for axis in axes)) else None
        if node.type == "Reshape":
            shape = self._shapes.shape_of(number) or self._whole_shape(axes, node)
            return reshape_axes(axes, shape) if shape is not None else None
        if node.type == "Transpose":
            order = self._shapes.integers(node.inputs[1][0])
            return transpose_axes(axes, order) if order is not None else None
        if node.type == "Unpack":
            at = int(node.attrs.get("axis") or 0) % len(axes)
            return axes[:at] + axes[at + 1 :]
        if node.type in SPLITS:
            axis, parts = self._parts(node)
            return split_axes(axes, axis, parts, FEATURES) if parts else None
        return slice_axes(node, axes)

    def _parts(self, node: Node) -> tuple[int, int]:
        """Return the axis of a split and the number of equal parts; 0 if they are not equal."""
        axis = self._shapes.integers(node.inputs[0 if node.type == "Split" else 2][0])
        sizes = self._shapes.integers(node.inputs[1][0]) if node.type == "SplitV" else None
        same = node.type == "Split" or (sizes is not None and len(set(sizes)) == 1)
        return (axis[0], len(node.dtypes)) if axis and same else (0, 0)

    def _whole_shape(self, axes: list[Axis], node: Node) -> Shape | None:
        target, total = self._shapes.integers(node.inputs[1][0]), 1
        for axis in axes:
            total *= _size(axis)
        if target is None or target.count(-1) > 1:
            return None
        rest = 1
        for size in target:
            rest *= size if size > 0 else 1
        return tuple(size if size > 0 else total // rest for size in target) if rest and total % rest == 0 else None

    def _spot(self, number: int) -> OpNode:
        return OpNode(self._function.nodes[number].type, self._instance, self._function, number)


def _size(axis: Axis) -> int:
    size = 1
    for grain in axis:
        size *= grain.size
    return size


def _is_mixed(axis: Axis) -> bool:
    """Return whether one axis mixes positions and features of a sample."""
    return has_origin(axis, TIME) and has_origin(axis, FEATURES) and not has_origin(axis, BATCH)


def _is_torn(inner: Axis, heads: tuple[int, int], time: tuple[int, int]) -> bool:
    """Return whether a projection sums over some positions of some heads: neither all heads nor all of one head."""
    all_heads = size_of_origin(inner, heads[0]) == heads[1]
    a_head = size_of_origin(inner, time[0]) == time[1] and not has_origin(inner, heads[0])
    return has_origin(inner, time[0]) and not all_heads and not a_head
