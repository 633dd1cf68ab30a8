"""Columns that are the same as another; worst where that is the label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, Case, Check
from tensorsleuth.data.feature import Label
from tensorsleuth.native.row_health import hash_rows

Spot = tuple[str, int]  # a feature, and the column of it; 0 of a vector
WIDEST = 4096  # columns of a two-dimensional feature; pixels are not columns
LISTED = 5


@dataclass
class Twins:
    """Columns that have been the same so far; `steady` while they have not changed at all."""

    spots: list[Spot]
    steady: bool
    first: Any


class DuplicateColumns(Check):
    """The first block says which columns may be the same: later ones are only asked about those."""

    parts = (DATA,)

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._twins: list[Twins] | None = None
        self._rows = 0

    def see(self, block: Block) -> None:
        self._rows += block.rows
        if self._twins is None:
            self._twins = list(_alike(block, self._candidates(block)))
        elif self._twins:
            self._twins = [still for twins in self._twins for still in _still(twins, block)]

    def _candidates(self, block: Block) -> Iterator[Spot]:
        for name, piece in block.pieces.items():
            feature = self.case.feature(name)
            if (
                feature is None
                or feature.duplicate
                or piece.ragged
                or piece.array.ndim not in (1, 2)
                or not len(piece.array)
            ):
                continue
            width = 1 if piece.array.ndim == 1 else piece.array.shape[1]
            yield from ((name, column) for column in range(width if width <= WIDEST else 0))

    def end(self) -> Iterator[Violation]:
        for twins in self._twins or ():
            if not twins.steady and self._rows > 2:  # what never changes is told as constant
                yield self._tell(twins.spots)

    def _tell(self, spots: list[Spot]) -> Violation:
        labels = [spot for spot in spots if isinstance(self.case.feature(spot[0]), Label)]
        first = (labels or spots)[0]
        others = [self._named(spot) for spot in spots if spot != first]
        more = ", …" if len(others) > LISTED else ""
        found = f"the same values as {', '.join(others[:LISTED])}{more} in all {self._rows:,} rows"
        if labels and len(labels) < len(spots):
            change = "The label is among the features: a model needs to learn nothing. Take it out."
            return Violation(
                "duplicate-column", self._named(first), "a label that is not a feature", found, change=change
            )
        change = "Leave all but one out, or say duplicate = true."
        return Violation(
            "duplicate-column", self._named(first), "columns that differ", found, change=change, severity="warning"
        )

    def _named(self, spot: Spot) -> str:
        columns = {column.name: column for column in self.case.columns[DATA]}
        shape = columns[spot[0]].shape
        return f"{spot[0]}[:, {spot[1]}]" if shape is not None and len(shape) == 2 else spot[0]


def _alike(block: Block, spots: Iterator[Spot]) -> Iterator[Twins]:
    """Columns with equal hashes in the first block."""
    found: dict[int, list[Spot]] = {}
    for spot in spots:
        found.setdefault(_hash(_column(block, spot)), []).append(spot)
    for spots_alike in found.values():
        if len(spots_alike) > 1:
            values = _column(block, spots_alike[0])
            yield Twins(spots_alike, bool((values == values[0]).all()), values[0])


def _still(twins: Twins, block: Block) -> Iterator[Twins]:
    """Return the columns among them that are equal in this block, too."""
    found: dict[int, list[Spot]] = {}
    for spot in twins.spots:
        if spot[0] in block.pieces:
            found.setdefault(_hash(_column(block, spot)), []).append(spot)
    for spots in found.values():
        if len(spots) > 1:
            values = _column(block, spots[0])
            yield Twins(spots, twins.steady and bool((values == twins.first).all()), twins.first)


def _column(block: Block, spot: Spot) -> Array:
    array = block.pieces[spot[0]].array
    return array if array.ndim == 1 else array[:, spot[1]]


def _hash(values: npt.NDArray[Any]) -> int:
    if values.dtype.kind in "OUST":
        return hash(tuple(values.tolist()))
    as_numbers = values.astype(np.float64) if values.dtype.kind in "fiub" else values
    return int(hash_rows(np.ascontiguousarray(as_numbers).reshape(1, -1))[0])


CHECK = DuplicateColumns
