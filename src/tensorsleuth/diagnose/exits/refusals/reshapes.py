"""A reshape that mixes samples, because its width is wrong: nothing fails there, but later."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tensorsleuth.diagnose.exits.refusals.size_source import Axis
from tensorsleuth.diagnose.exits.sized_tensor import RESHAPE
from tensorsleuth.trace.process.refusal import Sizes


@dataclass(frozen=True)
class Reshaping:
    """The shapes that went into a reshape and came out of it."""

    given: Sizes
    made: Sizes

    @property
    def fix(self) -> str:
        """Return the reshape that keeps samples apart."""
        size = _product(self.given[1:])
        samples = f"{self.given[0]} " if self.given[0] is not None else ""
        return (
            f"the reshape mixes samples: each of the {samples}samples has {size} values, so reshape to [-1, {size}], "
            "or name the batch, tf.reshape(x, [tf.shape(x)[0], -1]), which fails at once if the width is wrong"
        )


def wrong_reshaping(axis: Axis, right: int | None) -> Reshaping | None:
    """Return the reshape that an axis was made by, if another number of samples came out than went in.

    The other side must have the size that a reshape which keeps samples apart would have made.
    """
    if axis.tensor.op != RESHAPE:
        return None
    source = next(iter(axis.tensor.inputs), None)
    given, made = source.shape if source is not None else None, axis.tensor.shape
    if not given or not made or len(given) < 2 or len(made) < 2:
        return None
    size, then = _product(given[1:]), _product(made[1:])
    if size is None or then is None or size == then or _merges_axes(given, made):
        return None
    kept = {-1: size, -len(made): given[0]}.get(axis.place)
    return Reshaping(given, made) if right is not None and kept == right else None


def _merges_axes(given: Sizes, made: Sizes) -> bool:
    """Return whether the last axes are as they were, as where time is made part of the batch, or taken out of it."""
    return made[-1] == given[-1]


def _product(sizes: Sizes) -> int | None:
    return math.prod(size for size in sizes if size is not None) if None not in sizes else None
