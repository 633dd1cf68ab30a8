"""Masks of floats that are given: their values are not kept, but how many are 0 is counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.layout.rows import CallKind, EventFlag
from tensorsleuth.core.ops.kinds import ARRIVALS
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import FEWEST_LOOKS, Sequences
from tensorsleuth.trace.process.process import Tensor

COUNTED = EventFlag.COUNTED | EventFlag.RANGED


@dataclass(frozen=True)
class FloatMask:
    """A tensor of zeros and ones that comes in."""

    name: str
    tensor: int


def float_masks(given: Given, softmax: Spot, ids: Sequences) -> dict[str, tuple[FloatMask, Spot]]:
    """Yield the masks of a softmax with as many zeros, or ones, as the ids have padding, at every sample."""
    found: dict[str, tuple[FloatMask, Spot]] = {}
    for number, spot in given.laid_on(softmax):
        tensor = given.training.process.tensor(number)
        if tensor is not None and _comes_in(tensor, number) and _is_of(given, tensor, number, ids):
            found.setdefault(tensor.name, (FloatMask(tensor.name, number), spot))
    return found


def _comes_in(tensor: Tensor, number: int) -> bool:
    if tensor.type not in ARRIVALS or tensor.function is None or tensor.instance is None:
        return False
    if tensor.node is not None:
        return is_float(tensor.node.dtypes[tensor.output])
    return is_float(tensor.function.argument_dtypes[number - tensor.instance.first])


def _is_of(given: Given, tensor: Tensor, number: int, ids: Sequences) -> bool:
    """Batches of which not all rows were kept cannot be counted."""
    whole = {step: one for step, one in ids.at.items() if _all_kept(ids, step, len(one))}
    rows = dict(counted(given, tensor, number))
    told = [_has_as_many(row, whole[step] == ids.padding) for step, row in rows.items() if step in whole]
    return len(told) >= FEWEST_LOOKS and all(told)


def _all_kept(ids: Sequences, step: int, rows: int) -> bool:
    looks = np.flatnonzero(ids.series.steps == step)
    return bool(len(looks)) and ids.series.shape(int(looks[0]))[0] == rows


def _has_as_many(row: Any, padding: Any) -> bool:
    counts = int(row["zero"]), int(row["pos"])
    padded = int(padding.sum())
    whole = sum(counts) == padding.size and (float(row["min"]), float(row["max"])) == (0.0, 1.0)
    return whole and padded in counts


def counted(given: Given, tensor: Tensor, number: int) -> Iterator[tuple[int, Any]]:
    """Return the counts by step: for a part of a batch in its own row, for an argument where it was made."""
    process, moments = given.training.process, given.training.moments
    if tensor.node is not None:
        rows = process.events[process.events["tensor"] == number]
        found = ((process.step_of(row), row) for row in rows)
    else:
        at = number - tensor.instance.first if tensor.instance is not None else 0
        made = ((step, moments.by_uid(uid)) for step, uid in _given_at(given, tensor, at))
        found = ((step, one.row) for step, one in made if one is not None)
    for step, row in found:
        if step is not None and row is not None and row["flags"] & COUNTED == COUNTED:
            yield step, row


def _given_at(given: Given, tensor: Tensor, argument: int) -> Iterator[tuple[int, int]]:
    """The uid of an argument in each call, by step."""
    process, root = given.training.process, tensor.instance.id if tensor.instance is not None else -1
    ops = [op.id for op in process.catalogue.eager.values() if op.instance == root]
    calls = process.calls[(process.calls["kind"] == CallKind.FUNCTION) & np.isin(process.calls["op"], ops)]
    for row in calls:
        if argument < int(row["inputs_count"]):
            yield int(row["step"]), int(row["inputs"][argument])
