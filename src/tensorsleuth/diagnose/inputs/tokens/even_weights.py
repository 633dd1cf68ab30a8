"""Weights of losses that are the same at every position: whatever they were made for, they leave nothing out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.ops.kinds import INPUT
from tensorsleuth.diagnose.attention.masks.float_masks import counted
from tensorsleuth.diagnose.graph.loss_reduction import products
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.input_parts import SLICE, called
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import FEWEST_LOOKS, Sequences
from tensorsleuth.trace.process.process import Tensor

FAR = 4  # ops from where weights come in
# What booleans are made by, of which a mask is a cast.
TELLS = frozenset(
    ["NotEqual", "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "LogicalNot"]
)
MASK, WEIGHTS, NUMBER = "a mask", "a factor", ""


def even_weights(given: Given, loss: Spot, ids: Sequences) -> dict[Spot, str]:
    """The products of losses with what is the same everywhere, by its name; a single number has none."""
    found: dict[Spot, str] = {}
    for losses, product in products(given.training.around, loss):
        factors = given.others(product, losses)
        tensor = given.training.process.tensor(factors[0]) if len(factors) == 1 else None
        rows = list(counted(given, tensor, factors[0])) if tensor is not None else []
        if _are_even(rows, ids):
            found[product] = _name(given, factors[0]) if any(row["pos"] > 1 for _, row in rows) else NUMBER
    return found


def told(names: Iterable[str]) -> str:
    """`weighed by sample_weight, which is nowhere 0`; nothing where only numbers weigh."""
    named = [name for name in dict.fromkeys(names) if name != NUMBER]
    be = "is" if len(named) == 1 else "are"
    return f"weighed by {' and '.join(named)}, which {be} nowhere 0" if named else ""


def _are_even(rows: list[tuple[int, Any]], ids: Sequences) -> bool:
    """Return whether they are never anything but one number above 0, also where there is padding.

    Padding that weighs less than tokens do may be meant so.
    """
    padded = {step for step, one in ids.at.items() if (one == ids.padding).any()}
    seen = {step for step, _ in rows} & padded
    return len(seen) >= FEWEST_LOOKS and all(_is_even(row) for _, row in rows)


def _is_even(row: Any) -> bool:
    whole = all(row[name] == 0 for name in ("nan", "pos_inf", "neg_inf", "neg", "zero"))
    return bool(whole and row["min"] == row["max"])


def _name(given: Given, number: int) -> str:
    """Return the program's name of weights where they come in; else their kind."""
    for _ in range(FAR):
        tensor, spot = given.training.process.tensor(number), given.made_by(number)
        if tensor is None or spot is None or spot.type in INPUT:
            return _name_given(given, tensor, number)
        if spot.type in TELLS:
            return MASK
        before = given.others(spot, spot) if spot.type in ("Cast", SLICE) else []
        if not before:
            return WEIGHTS
        number = before[0]
    return WEIGHTS


def _name_given(given: Given, tensor: Tensor | None, number: int) -> str:
    """Parts of a batch have names where they are integers: what comes last, after labels, are weights."""
    if tensor is None or tensor.function is None or tensor.instance is None:
        return WEIGHTS
    if tensor.node is None:
        argument = tensor.function.arguments[number - tensor.instance.first]
        return called(f"{program_name(tensor.function.name)}/{argument}")
    labels = given.known.get(number - 1)
    is_last = tensor.output == len(tensor.node.dtypes) - 1
    return "sample_weight" if is_last and labels is not None and called(labels.name)[:1] == "y" else WEIGHTS
