"""A tensor that is made with a constant number of rows, and a batch that has fewer: the last one of an epoch."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.views import SHAPED_OPS
from tensorsleuth.diagnose.exits.refusals.size_source import Axis, size_source
from tensorsleuth.diagnose.exits.sized_tensor import SizedTensor


@dataclass(frozen=True)
class FixedBatch:
    """The tensor with the constant number of rows, its rows, and those of the batch."""

    tensor: SizedTensor
    rows: int
    batch: int

    @property
    def frame(self) -> Frame | None:
        """Return the line to change: the one that chose the number of rows."""
        return self.tensor.caller if self.tensor.caller is not None else self.tensor.frame

    @property
    def fix(self) -> str:
        return (
            f"make it as long as the batch is, with tf.shape(x)[0] of the batch in place of {self.rows}; or leave out "
            f"the rest of an epoch: batch({self.rows}, drop_remainder=True)"
        )


def fixed_batch(conflict: tuple[Axis, Axis]) -> FixedBatch | None:
    """Return the side that the program wrote a number of rows for, if the other one has fewer rows of data."""
    for axis, other in (conflict, conflict[::-1]):
        rows, batch = axis.size, other.size
        source = size_source(axis)
        if rows is None or batch is None or batch >= rows or not (_is_first(axis) and _is_first(other)):
            continue
        if _is_constant(source.tensor) and _is_first(source) and not _is_constant(size_source(other).tensor):
            return FixedBatch(source.tensor, rows, batch)
    return None


def _is_first(axis: Axis) -> bool:
    return len(axis.tensor.shape or ()) == -axis.place


def _is_constant(one: SizedTensor) -> bool:
    """Return whether the program wrote its shape down: no tensor has a part in it."""
    if one.op not in SHAPED_OPS:
        return one.op == "Const"
    inputs = one.inputs
    return not inputs or inputs[SHAPED_OPS[one.op]].op in ("Const", "Feed")
