"""Checks one element of a running pipeline, with the checks of whole sets that apply to one element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block, Column, Piece
from tensorsleuth.data.check import DATA, CheckContext, DataCheck
from tensorsleuth.data.checks import categories, finite, labels, missing, ranges, shapes, types
from tensorsleuth.data.schema import Schema

ELEMENT_CHECKS: Sequence[type[DataCheck]] = (
    types.CHECK, shapes.CHECK, ranges.CHECK, finite.CHECK, missing.CHECK, categories.CHECK, labels.CHECK,
)  # fmt: skip
WHOLE_SET_RULES = ("label-gap", "balance")  # rules that only a whole set can break


def violations(
    schema: Schema, index: int, element: Mapping[str, Array], batched: bool, loose: set[str]
) -> list[Violation]:
    """Return the violations of an element. `loose` parts are ragged or sparse: they have values but no shape."""
    pieces = {name: _piece(array, batched, name in loose) for name, array in element.items()}
    check_context = CheckContext(schema, {DATA: tuple(Column(name) for name in pieces)})
    running = [kind(check_context) for kind in ELEMENT_CHECKS]
    for check in running:
        check.see(Block(0, pieces))
    found = [violation for check in running for violation in check.end() if violation.rule not in WHOLE_SET_RULES]
    found = [one for one in found if one.rule != "missing" or not schema[one.name].missing]  # a share is of a whole set
    return [_placed(one, index, batched) for one in found]


def _piece(array: Array, batched: bool, loose: bool) -> Piece:
    if loose:
        return Piece(array, places=np.stack(np.unravel_index(np.arange(array.size), array.shape), axis=1))
    return Piece(array) if batched and array.ndim else Piece(array[None])


def _placed(violation: Violation, index: int, batched: bool) -> Violation:
    """Return a violation with the element as its place, and positions in the element."""
    positions: Any = violation.positions
    if not batched and all(position and position[0] == 0 for position in positions):
        positions = tuple(position[1:] for position in positions)
    return replace(violation, where=f"element {index}", positions=positions)
