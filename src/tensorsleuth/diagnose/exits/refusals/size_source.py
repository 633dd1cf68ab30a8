"""An axis of a tensor, and the tensor in which its size appears first."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.core.ops.views import AXIS_CHANGES
from tensorsleuth.diagnose.exits.sized_tensor import RESHAPE, SizedTensor

MAX_HOPS = 60  # ops between a size and the line that chose it


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor, counted from the last, which is -1."""

    tensor: SizedTensor
    place: int

    @property
    def size(self) -> int | None:
        shape = self.tensor.shape
        return shape[self.place] if shape is not None and len(shape) >= -self.place else None


def size_source(axis: Axis) -> Axis:
    """Follow a size back to the tensor in which it appears first, and return its axis there."""
    for _ in range(MAX_HOPS):
        before = _axis_before(axis)
        if before is None:
            break
        axis = before
    return axis


def _axis_before(axis: Axis) -> Axis | None:
    """Return the axis of an input that has this size for the same reason."""
    one = axis.tensor
    if one.op in (RESHAPE, "ExpandDims"):
        return _before_reshape(axis)
    if one.is_variable or one.op in AXIS_CHANGES:
        return None
    inputs = one.inputs
    if one.op in LAYER_PRODUCTS:
        inputs = inputs[1:2] if axis.place == -1 else inputs[:1]
    found = (Axis(other, axis.place) for other in inputs)
    return next((other for other in found if other.size is not None and other.size == axis.size), None)


def _before_reshape(axis: Axis) -> Axis | None:
    """Return the axis of a reshape's input that the reshape left as it was: the first or the last one."""
    source = next(iter(axis.tensor.inputs), None)
    given, made = source.shape if source is not None else None, axis.tensor.shape
    if source is None or not given or not made or None in given or None in made:
        return None
    if axis.place == -len(made) and given[0] == made[0]:
        return Axis(source, -len(given))
    return Axis(source, -1) if axis.place == -1 and given[-1] == made[-1] else None
