"""The axes that an op of attention takes, sums over and leaves."""

from __future__ import annotations

from tensorsleuth.core.catalog import Node
from tensorsleuth.core.ops.products import BATCH_MATMULS
from tensorsleuth.diagnose.attention.heads.axis_provenance import Axis, AxisPart
from tensorsleuth.diagnose.graph.shapes import einsum_letters


def data_slot(node: Node) -> int:
    """Return the data input of an op: a split has the axis first."""
    return 1 if node.type == "Split" else 0


def split_axes(axes: list[Axis], axis: int, parts: int, features: int) -> list[Axis] | None:
    """Return the axes of a part in `tf.split(qkv, 3, -1)`, with fewer features; None if it splits another axis."""
    at = axis % len(axes)
    whole = axes[at][0] if len(axes[at]) == 1 else None
    if whole is None or whole.origins != {features} or whole.size % parts:
        return None
    return [*axes[:at], (AxisPart(whole.origins, whole.size // parts),), *axes[at + 1 :]]


def slice_axes(node: Node, axes: list[Axis]) -> list[Axis] | None:
    """Return the axes left by `qkv[0]` or `x[:, 0]`; None if the slice takes a part of an axis."""
    masks = [int(node.attrs.get(name) or 0) for name in ("begin_mask", "end_mask", "shrink_axis_mask")]
    if node.type != "StridedSlice" or node.attrs.get("ellipsis_mask") or node.attrs.get("new_axis_mask"):
        return None
    begin, end, shrink = masks
    taken = max(masks).bit_length()
    if any(not (shrink >> at & 1) and not (begin >> at & end >> at & 1) for at in range(taken)):
        return None
    return [axis for at, axis in enumerate(axes) if not shrink >> at & 1]


def row_axis(node: Node, slot: int) -> int | None:
    """Return the axis of the queries, or of the keys, in an operand of the scores."""
    if node.type in BATCH_MATMULS:
        turned = node.attrs.get("adj_x" if slot == 0 else "adj_y") is True
        return -2 if (slot == 0) != turned else -1
    taken, made = einsum_letters(node)
    alone = [letter for letter in taken[slot] if letter in made and letter not in taken[1 - slot]]
    return taken[slot].index(alone[0]) - len(taken[slot]) if len(alone) == 1 else None


def key_axis(node: Node, slot: int) -> int | None:
    """Return the axis of the values that the product with the weights sums over."""
    if node.type in BATCH_MATMULS:
        turned = node.attrs.get("adj_x" if slot == 0 else "adj_y") is True
        return -1 if (slot == 0) != turned else -2
    taken, made = einsum_letters(node)
    summed = [letter for letter in taken[slot] if letter not in made and letter in taken[1 - slot]]
    return taken[slot].index(summed[0]) - len(taken[slot]) if len(summed) == 1 else None


def head_and_query_axes(node: Node, weights: int) -> tuple[int, int] | None:
    """Return the axes of heads and of queries in the second product."""
    if weights < 0:
        return None
    if node.type in BATCH_MATMULS:
        return (-3, -2) if weights == 0 else None
    taken, made = einsum_letters(node)
    time = [at for at, letter in enumerate(made) if letter not in taken[1 - weights]]
    heads = [at for at, letter in enumerate(made) if at and letter in taken[0] and letter in taken[1]]
    return (heads[0], time[0]) if len(time) == 1 and len(heads) == 1 else None


def contracted_axis(node: Node, axes: list[Axis]) -> Axis | None:
    """Return the axes of its first operand that a projection sums over."""
    if node.type != "Einsum":
        return axes[-1] if axes else None
    taken, made = einsum_letters(node)
    if len(taken[0]) != len(axes):
        return None
    return tuple(grain for letter, axis in zip(taken[0], axes, strict=True) if letter not in made for grain in axis)
