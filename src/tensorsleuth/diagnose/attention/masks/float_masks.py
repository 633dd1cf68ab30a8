"""Float masks among the inputs: the trace holds no values of them, but it counts their zeros."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.layout.rows import CallKind, EventFlag
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import FEWEST_SAMPLES, TokenSequences
from tensorsleuth.trace.process.process import TensorInfo

COUNTED_FLAGS = EventFlag.COUNTED | EventFlag.RANGED


@dataclass(frozen=True)
class FloatMask:
    """An input tensor of zeros and ones."""

    name: str
    tensor: int


def float_masks(model_inputs: ModelInputs, softmax: OpNode, ids: TokenSequences) -> dict[str, tuple[FloatMask, OpNode]]:
    """Return the masks of a softmax with as many zeros, or ones, as the ids have padding, at every sample."""
    found: dict[str, tuple[FloatMask, OpNode]] = {}
    for number, spot in model_inputs.mask_tensors(softmax):
        tensor = model_inputs.training.process.tensor(number)
        if (
            tensor is not None
            and _is_float_input(tensor, number)
            and _matches_padding(model_inputs, tensor, number, ids)
        ):
            found.setdefault(tensor.name, (FloatMask(tensor.name, number), spot))
    return found


def _is_float_input(tensor_info: TensorInfo, number: int) -> bool:
    if tensor_info.type not in EXTERNAL_SOURCES or tensor_info.function is None or tensor_info.instance is None:
        return False
    if tensor_info.node is not None:
        return is_float(tensor_info.node.dtypes[tensor_info.output])
    return is_float(tensor_info.function.argument_dtypes[number - tensor_info.instance.first_tensor])


def _matches_padding(model_inputs: ModelInputs, tensor_info: TensorInfo, number: int, ids: TokenSequences) -> bool:
    """Return whether the counts match the padding; a batch with unrecorded rows is skipped."""
    whole = {step: one for step, one in ids.ids_by_step.items() if _all_kept(ids, step, len(one))}
    rows = dict(counts_by_step(model_inputs, tensor_info, number))
    told = [_has_as_many(row, whole[step] == ids.padding_id) for step, row in rows.items() if step in whole]
    return len(told) >= FEWEST_SAMPLES and all(told)


def _all_kept(ids: TokenSequences, step: int, rows: int) -> bool:
    looks = np.flatnonzero(ids.series.steps == step)
    return bool(len(looks)) and ids.series.shape(int(looks[0]))[0] == rows


def _has_as_many(row: Any, padding: Any) -> bool:
    counts = int(row["zero"]), int(row["pos"])
    padded = int(padding.sum())
    whole = sum(counts) == padding.size and (float(row["min"]), float(row["max"])) == (0.0, 1.0)
    return whole and padded in counts


def counts_by_step(model_inputs: ModelInputs, tensor_info: TensorInfo, number: int) -> Iterator[tuple[int, Any]]:
    """Yield the counts by step: for a part of a batch in its own row, for an argument where it was made."""
    process, moments = model_inputs.training.process, model_inputs.training.call_graphs
    if tensor_info.node is not None:
        rows = process.events[process.events["tensor"] == number]
        found = ((process.step_of(row), row) for row in rows)
    else:
        at = number - tensor_info.instance.first_tensor if tensor_info.instance is not None else 0
        made = ((step, moments.by_uid(uid)) for step, uid in _argument_uids(model_inputs, tensor_info, at))
        found = ((step, one.row) for step, one in made if one is not None)
    for step, row in found:
        if step is not None and row is not None and row["flags"] & COUNTED_FLAGS == COUNTED_FLAGS:
            yield step, row


def _argument_uids(model_inputs: ModelInputs, tensor_info: TensorInfo, argument: int) -> Iterator[tuple[int, int]]:
    """The uid of an argument in each call, by step."""
    process, root = model_inputs.training.process, tensor_info.instance.id if tensor_info.instance is not None else -1
    ops = [op.id for op in process.catalogue.eager.values() if op.instance == root]
    calls = process.calls[(process.calls["kind"] == CallKind.FUNCTION) & np.isin(process.calls["op"], ops)]
    for row in calls:
        if argument < int(row["inputs_count"]):
            yield int(row["step"]), int(row["inputs"][argument])
