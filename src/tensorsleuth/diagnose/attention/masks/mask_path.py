"""The ops that make a mask of what is given and lay it on attention scores, and the line to change."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.dtypes import Kind, dtype_of
from tensorsleuth.core.ops.kinds import VIEWS
from tensorsleuth.diagnose.attention.masks.float_masks import FloatMask
from tensorsleuth.diagnose.graph.constant_folding import folded
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.shapes import Shape, SizesOf
from tensorsleuth.diagnose.inputs.model_inputs import FAR, MASKING, Given
from tensorsleuth.trace.series.watched import WatchedSeries

COMPARES = frozenset(["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalNot"])


class MaskWay:
    """From one thing that is given to one softmax."""

    def __init__(self, given: Given, softmax: Spot, series: WatchedSeries | FloatMask) -> None:
        self._given, self._softmax = given, softmax
        self.ops = _way(given, softmax, series)

    def made_at(self) -> Frame | None:
        """The line that makes the mask: that compares, else the first that is the user's own."""
        compares = [one for one in self.ops if one.type in COMPARES]
        return next((frame for one in [*compares, *self.ops] if (frame := self.own(one)) is not None), None)

    def widened(self) -> Spot | None:
        """The last op that gives the mask an axis more: in another line than the softmax, where there is one."""
        wider = [one for one in reversed(self.ops) if _adds_an_axis(one)]
        attends = self.own(self._softmax)
        apart = (one for one in wider if self.own(one) not in (None, attends))
        return next(apart, None) or next(iter(wider), None)

    def widened_at(self) -> tuple[Frame | None, Shape | None]:
        """Return the line that adds the axis, and the resulting shape."""
        spot = self.widened()
        if spot is None:
            return None, None
        return self.own(spot), self._given.training.process.once(SizesOf).at(spot).of(spot.node)

    def wraps_at(self) -> Spot | None:
        """Return the line that makes an unsigned mask negative: `mask - 1`. `1 - mask` is fine."""
        return next((one for one in self.ops if one.type == "Sub" and _is_below_nothing(one)), None)

    def own(self, spot: Spot) -> Frame | None:
        """The user's line, unless it is that of a whole model."""
        site = self._given.training.around.site(spot)
        frame = site.frame if site is not None else None
        return None if frame is None or self._given.training.is_loop(frame) else frame


def _way(given: Given, softmax: Spot, series: WatchedSeries | FloatMask) -> list[Spot]:
    """The shortest way, what is given first; views, which nothing is computed by, are on it too."""
    came: dict[Spot, Spot | None] = {softmax: None}
    level = [softmax]
    for _ in range(FAR):
        following: list[Spot] = []
        for spot in level:
            for tensor, before in _sources(given, spot):
                if _is(given, tensor, series):
                    return list(_with_views(spot, came))
                if before is not None and before.type in MASKING and before not in came:
                    came[before] = spot
                    following.append(before)
        level = following
    return []


def _is(given: Given, tensor: int, series: WatchedSeries | FloatMask) -> bool:
    if isinstance(series, FloatMask):
        return tensor == series.tensor
    return tensor in given.known and given.known[tensor].name == series.name


def _sources(given: Given, spot: Spot) -> Iterator[tuple[int, Spot | None]]:
    assert spot.instance is not None
    for slot in given.training.moments.flow.slots(spot.instance, spot.node):
        for source in slot:
            yield source.tensor, given.made_by(source.tensor)


def _with_views(first: Spot, came: dict[Spot, Spot | None]) -> Iterator[Spot]:
    before: Spot | None = None
    spot: Spot | None = first
    while spot is not None:
        yield from _views(spot, before)
        yield spot
        before, spot = spot, came[spot]


def _views(spot: Spot, before: Spot | None) -> list[Spot]:
    """Yield the reshapes and new axes between an op and the one before it."""
    function = spot.function
    assert function is not None
    for source, _ in function.nodes[spot.node].inputs:
        found: list[Spot] = []
        while source >= 0 and function.nodes[source].type in VIEWS:
            found.insert(0, Spot(function.nodes[source].type, spot.instance, function, source))
            source = function.nodes[source].inputs[0][0]
        if (source < 0) if before is None else (source == before.node and before.function is function):
            return found
    return []


def _is_below_nothing(spot: Spot) -> bool:
    """`mask - 1` and `0 - mask` of unsigned numbers; not `1 - mask`."""
    node, function = spot.described, spot.function
    assert node is not None
    assert function is not None
    left, right = (folded(function, source) for source, _ in node.inputs[:2])
    lowered = left is None and right is not None and max(right, default=0) > 0
    return dtype_of(node.dtypes[0]).kind is Kind.UINT and (lowered or left == [0])


def _adds_an_axis(spot: Spot) -> bool:
    node = spot.described
    sliced = node is not None and node.type == "StridedSlice" and bool(node.attrs.get("new_axis_mask"))
    return sliced or spot.type in ("ExpandDims", "Reshape")
