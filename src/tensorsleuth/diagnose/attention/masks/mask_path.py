"""The ops from an input mask to the attention scores, and the line to change."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.core.ops.elementwise import COMPARISONS_AND_NOT
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.core.ops.masks import MASK_MAKING_OPS
from tensorsleuth.diagnose.attention.masks.float_masks import FloatMask
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.shapes import ProcessShapes, Shape
from tensorsleuth.diagnose.inputs.model_inputs import MAX_HOPS_TO_INPUT, ModelInputs
from tensorsleuth.trace.series.watched import WatchedSeries


class MaskPath:
    """The path from one input to one softmax."""

    def __init__(self, model_inputs: ModelInputs, softmax: OpNode, series: WatchedSeries | FloatMask) -> None:
        self._inputs, self._softmax = model_inputs, softmax
        self.ops = _path(model_inputs, softmax, series)

    def making_line(self) -> Frame | None:
        """Return the line that makes the mask: the one that compares, else the first that is the user's own."""
        compares = [one for one in self.ops if one.type in COMPARISONS_AND_NOT]
        return next((frame for one in [*compares, *self.ops] if (frame := self.user_line(one)) is not None), None)

    def widening_op(self) -> OpNode | None:
        """Return the last op that adds an axis to the mask, preferably on another line than the softmax."""
        wider = [one for one in reversed(self.ops) if _adds_an_axis(one)]
        attends = self.user_line(self._softmax)
        apart = (one for one in wider if self.user_line(one) not in (None, attends))
        return next(apart, None) or next(iter(wider), None)

    def widening_line(self) -> tuple[Frame | None, Shape | None]:
        """Return the line that adds the axis, and the resulting shape."""
        spot = self.widening_op()
        if spot is None:
            return None, None
        return self.user_line(spot), self._inputs.training.process.cached(ProcessShapes).around_op(spot).shape_of(
            spot.node_index
        )

    def wrapping_op(self) -> OpNode | None:
        """Return the line that makes an unsigned mask negative: `mask - 1`. `1 - mask` is fine."""
        return next((one for one in self.ops if one.type == "Sub" and _wraps_around(one)), None)

    def user_line(self, op_node: OpNode) -> Frame | None:
        """The user's line, unless it is that of a whole model."""
        site = self._inputs.training.neighbours.site(op_node)
        frame = site.frame if site is not None else None
        return None if frame is None or self._inputs.training.is_keras_loop(frame) else frame


def _path(model_inputs: ModelInputs, softmax: OpNode, series: WatchedSeries | FloatMask) -> list[OpNode]:
    """Return the shortest path, beginning at the input; it includes views."""
    came: dict[OpNode, OpNode | None] = {softmax: None}
    level = [softmax]
    for _ in range(MAX_HOPS_TO_INPUT):
        following: list[OpNode] = []
        for spot in level:
            for tensor, before in _sources(model_inputs, spot):
                if _is_source(model_inputs, tensor, series):
                    return list(_with_views(spot, came))
                if before is not None and before.type in MASK_MAKING_OPS and before not in came:
                    came[before] = spot
                    following.append(before)
        level = following
    return []


def _is_source(model_inputs: ModelInputs, tensor: int, series: WatchedSeries | FloatMask) -> bool:
    if isinstance(series, FloatMask):
        return tensor == series.tensor
    return tensor in model_inputs.series_by_tensor and model_inputs.series_by_tensor[tensor].name == series.name


def _sources(model_inputs: ModelInputs, op_node: OpNode) -> Iterator[tuple[int, OpNode | None]]:
    assert op_node.instance is not None
    for slot in model_inputs.training.call_graphs.flow.input_sources(op_node.instance, op_node.node_index):
        for source in slot:
            yield source.tensor, model_inputs.producer(source.tensor)


def _with_views(first: OpNode, came: dict[OpNode, OpNode | None]) -> Iterator[OpNode]:
    before: OpNode | None = None
    spot: OpNode | None = first
    while spot is not None:
        yield from _views(spot, before)
        yield spot
        before, spot = spot, came[spot]


def _views(op_node: OpNode, before: OpNode | None) -> list[OpNode]:
    """Return the reshapes and new axes between an op and the one before it."""
    function = op_node.function
    assert function is not None
    for source, _ in function.nodes[op_node.node_index].inputs:
        found: list[OpNode] = []
        while source >= 0 and function.nodes[source].type in VIEWS:
            found.insert(0, OpNode(function.nodes[source].type, op_node.instance, function, source))
            source = function.nodes[source].inputs[0][0]
        if (source < 0) if before is None else (source == before.node_index and before.function is function):
            return found
    return []


def _wraps_around(op_node: OpNode) -> bool:
    """`mask - 1` and `0 - mask` of unsigned numbers; not `1 - mask`."""
    node, function = op_node.graph_node, op_node.function
    assert node is not None
    assert function is not None
    left, right = (fold_constants(function, source) for source, _ in node.inputs[:2])
    lowered = left is None and right is not None and max(right, default=0) > 0
    return dtype_of(node.dtypes[0]).kind is DTypeKind.UINT and (lowered or left == [0])


def _adds_an_axis(op_node: OpNode) -> bool:
    node = op_node.graph_node
    sliced = node is not None and node.type == "StridedSlice" and bool(node.attrs.get("new_axis_mask"))
    return sliced or op_node.type in ("ExpandDims", "Reshape")
