"""Loss weights that are equal at every position: they leave nothing out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.ops.elementwise import BOOLEAN_OPS
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT_OPS
from tensorsleuth.diagnose.attention.masks.float_masks import counts_by_step
from tensorsleuth.diagnose.graph.loss_reduction import loss_products
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.input_parts import SLICE_OP
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import FEWEST_SAMPLES, TokenSequences
from tensorsleuth.trace.process.process import TensorInfo

MAX_HOPS_TO_INPUT = 4  # ops from where weights come in
MASK_NAME, FACTOR_NAME, NO_NAME = "a mask", "a factor", ""


def even_weights(model_inputs: ModelInputs, loss: OpNode, ids: TokenSequences) -> dict[OpNode, str]:
    """Return the products of losses with even weights, by the name of the weights; a constant factor has none."""
    found: dict[OpNode, str] = {}
    for losses, product in loss_products(model_inputs.training.neighbours, loss):
        factors = model_inputs.other_inputs(product, losses)
        tensor = model_inputs.training.process.tensor(factors[0]) if len(factors) == 1 else None
        rows = list(counts_by_step(model_inputs, tensor, factors[0])) if tensor is not None else []
        if _are_even(rows, ids):
            found[product] = (
                _weights_name(model_inputs, factors[0]) if any(row["pos"] > 1 for _, row in rows) else NO_NAME
            )
    return found


def describe_weights(names: Iterable[str]) -> str:
    """Return `weighed by sample_weight, which is nowhere 0`; empty if only numbers are factors."""
    named = [name for name in dict.fromkeys(names) if name != NO_NAME]
    be = "is" if len(named) == 1 else "are"
    return f"weighed by {' and '.join(named)}, which {be} nowhere 0" if named else ""


def _are_even(rows: list[tuple[int, Any]], ids: TokenSequences) -> bool:
    """Return whether they are never anything but one number above 0, also where there is padding.

    Padding that weighs less than tokens do may be meant so.
    """
    padded = {step for step, one in ids.ids_by_step.items() if (one == ids.padding_id).any()}
    seen = {step for step, _ in rows} & padded
    return len(seen) >= FEWEST_SAMPLES and all(_is_even(row) for _, row in rows)


def _is_even(row: Any) -> bool:
    whole = all(row[name] == 0 for name in ("nan", "pos_inf", "neg_inf", "neg", "zero"))
    return bool(whole and row["min"] == row["max"])


def _weights_name(model_inputs: ModelInputs, number: int) -> str:
    """Return the program's name of weights where they come in; else their kind."""
    for _ in range(MAX_HOPS_TO_INPUT):
        tensor, spot = model_inputs.training.process.tensor(number), model_inputs.producer(number)
        if tensor is None or spot is None or spot.type in INPUT_OPS:
            return _input_name(model_inputs, tensor, number)
        if spot.type in BOOLEAN_OPS:
            return MASK_NAME
        before = model_inputs.other_inputs(spot, spot) if spot.type in ("Cast", SLICE_OP) else []
        if not before:
            return FACTOR_NAME
        number = before[0]
    return FACTOR_NAME


def _input_name(model_inputs: ModelInputs, tensor_info: TensorInfo | None, number: int) -> str:
    """Return the input's name; the part of a batch after the labels is called weights."""
    if tensor_info is None or tensor_info.function is None or tensor_info.instance is None:
        return FACTOR_NAME
    if tensor_info.node is None:
        argument = tensor_info.function.arguments[number - tensor_info.instance.first_tensor]
        return program_input_name(f"{program_name(tensor_info.function.name)}/{argument}")
    labels = model_inputs.series_by_tensor.get(number - 1)
    is_last = tensor_info.output == len(tensor_info.node.dtypes) - 1
    return (
        "sample_weight"
        if is_last and labels is not None and program_input_name(labels.name)[:1] == "y"
        else FACTOR_NAME
    )
