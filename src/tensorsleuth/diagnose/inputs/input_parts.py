"""Inputs of a function and slices of them: the recorded values, and the program's name."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.trace.series.watched import WatchedSeries

SLICE_OP, RESHAPING_MASKS = "StridedSlice", ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
Slices = tuple[slice, ...]


@dataclass(frozen=True)
class InputPart:
    """An input, or a slice of it: `tokens[:, :-1]`."""

    series: WatchedSeries
    slices: Slices = ()

    def values(self) -> dict[int, Array]:
        """Return the kept values by step."""
        kept = ((int(step), self.series.value(look)) for look, step in enumerate(self.series.steps))
        cut = {step: value[self.slices] for step, value in kept if value is not None and value.ndim >= len(self.slices)}
        return {step: value for step, value in cut.items() if value.size}


def slices_of(op_node: OpNode) -> Slices | None:
    """Return the slice of a strided slice, if it is constant and keeps the rank."""
    node, function = op_node.graph_node, op_node.function
    if node is None or function is None or any(node.attrs.get(mask) for mask in RESHAPING_MASKS):
        return None
    begin, end, stride = (fold_constants(function, source) for source, _ in node.inputs[1:4])
    if begin is None or end is None or stride is None:
        return None
    first, last = int(node.attrs.get("begin_mask") or 0), int(node.attrs.get("end_mask") or 0)
    numbers = enumerate(zip(begin, end, stride, strict=True))
    return tuple(slice(None if first >> at & 1 else a, None if last >> at & 1 else b, c) for at, (a, b, c) in numbers)
