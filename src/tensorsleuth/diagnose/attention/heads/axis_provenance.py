"""The path of a tensor's axes through reshapes and transposes: each axis consists of parts of the initial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class AxisPart:
    """A part of one of the axes that a tensor had at first; of several, if they are indistinguishable."""

    origins: frozenset[int]
    size: int


Axis = tuple[AxisPart, ...]  # the slowest first


def initial_axes(shape: Sequence[int]) -> list[Axis]:
    """Return the axes of a tensor before any reshape: each consists of itself."""
    return [(AxisPart(frozenset([at]), size),) if size > 1 else () for at, size in enumerate(shape)]


def transpose_axes(axes: Sequence[Axis], order: Sequence[int]) -> list[Axis] | None:
    return [axes[at] for at in order] if sorted(order) == list(range(len(axes))) else None


def reshape_axes(axes: Sequence[Axis], shape: Sequence[int]) -> list[Axis] | None:
    """Distribute the parts over the axes of the new shape, in order; split a part if a size requires it."""
    left = [grain for axis in axes for grain in axis]
    if math.prod(grain.size for grain in left) != math.prod(shape):
        return None
    found: list[Axis] = []
    for at, size in enumerate(shape):
        axis = _take_parts(left, size)
        if axis is None:
            return [*found, *_tangled_axes(left, shape[at:])]
        found.append(axis)
    return found


def _take_parts(left: list[AxisPart], size: int) -> Axis | None:
    """Take as many parts from the front as a size needs; None, and nothing is taken, if they do not add up."""
    taken: list[AxisPart] = []
    rest = list(left)
    while size > 1:
        grain = rest.pop(0)
        if size % grain.size == 0:
            taken.append(grain)
            size //= grain.size
        elif grain.size % size == 0:
            taken.append(AxisPart(grain.origins, size))
            rest.insert(0, AxisPart(grain.origins, grain.size // size))
            size = 1
        else:
            return None
    left[:] = rest
    return tuple(taken)


def _tangled_axes(left: list[AxisPart], shape: Sequence[int]) -> list[Axis]:
    """Return the axes for sizes that do not divide each other: every axis has something of every part."""
    origins = frozenset(origin for grain in left for origin in grain.origins)
    return [(AxisPart(origins, size),) if size > 1 else () for size in shape]


def has_origin(axis: Axis, origin: int) -> bool:
    return any(origin in grain.origins for grain in axis)


def size_of_origin(axis: Axis, origin: int) -> int:
    """Return the share of a first tensor's axis that is in this one and distinguishable."""
    return math.prod(grain.size for grain in axis if grain.origins == {origin})
