"""Finds columns that equal another column, which is worst if that is the label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, CheckContext, DataCheck
from tensorsleuth.data.feature import Label
from tensorsleuth.native.row_health import hash_rows

ColumnRef = tuple[str, int]  # a feature, and the index of its column; 0 for a vector
MAX_COLUMNS = 4096  # of a two-dimensional feature; pixels are not columns
MAX_LISTED_COLUMNS = 5


@dataclass
class EqualColumns:
    """Columns that have been equal so far; `steady` while they have not changed."""

    spots: list[ColumnRef]
    steady: bool
    first: Any


class DuplicateColumnsCheck(DataCheck):
    """The first block gives the candidates. Later blocks are only checked for these."""

    parts = (DATA,)

    def __init__(self, check_context: CheckContext) -> None:
        super().__init__(check_context)
        self._twins: list[EqualColumns] | None = None
        self._rows = 0

    def see(self, block: Block) -> None:
        self._rows += block.rows
        if self._twins is None:
            self._twins = list(_equal_in_first(block, self._candidates(block)))
        elif self._twins:
            self._twins = [still for twins in self._twins for still in _still_equal(twins, block)]

    def _candidates(self, block: Block) -> Iterator[ColumnRef]:
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
            yield from ((name, column) for column in range(width if width <= MAX_COLUMNS else 0))

    def end(self) -> Iterator[Violation]:
        for twins in self._twins or ():
            if not twins.steady and self._rows > 2:  # constant columns are reported as constant
                yield self._violation(twins.spots)

    def _violation(self, column_refs: list[ColumnRef]) -> Violation:
        labels = [spot for spot in column_refs if isinstance(self.case.feature(spot[0]), Label)]
        first = (labels or column_refs)[0]
        others = [self._named(spot) for spot in column_refs if spot != first]
        more = ", …" if len(others) > MAX_LISTED_COLUMNS else ""
        found = f"the same values as {', '.join(others[:MAX_LISTED_COLUMNS])}{more} in all {self._rows:,} rows"
        if labels and len(labels) < len(column_refs):
            change = "The label is among the features, so the model need not learn anything. Remove it."
            return Violation(
                "duplicate-column", self._named(first), "a label that is not a feature", found, change=change
            )
        change = "Leave all but one out, or say duplicate = true."
        return Violation(
            "duplicate-column", self._named(first), "columns that differ", found, change=change, severity="warning"
        )

    def _named(self, column_ref: ColumnRef) -> str:
        columns = {column.name: column for column in self.case.columns[DATA]}
        shape = columns[column_ref[0]].shape
        return f"{column_ref[0]}[:, {column_ref[1]}]" if shape is not None and len(shape) == 2 else column_ref[0]


def _equal_in_first(block: Block, column_refs: Iterator[ColumnRef]) -> Iterator[EqualColumns]:
    """Yield columns with equal hashes in the first block."""
    found: dict[int, list[ColumnRef]] = {}
    for spot in column_refs:
        found.setdefault(_hash(_column(block, spot)), []).append(spot)
    for spots_alike in found.values():
        if len(spots_alike) > 1:
            values = _column(block, spots_alike[0])
            yield EqualColumns(spots_alike, bool((values == values[0]).all()), values[0])


def _still_equal(equal_columns: EqualColumns, block: Block) -> Iterator[EqualColumns]:
    """Yield the columns among them that are also equal in this block."""
    found: dict[int, list[ColumnRef]] = {}
    for spot in equal_columns.spots:
        if spot[0] in block.pieces:
            found.setdefault(_hash(_column(block, spot)), []).append(spot)
    for spots in found.values():
        if len(spots) > 1:
            values = _column(block, spots[0])
            yield EqualColumns(
                spots, equal_columns.steady and bool((values == equal_columns.first).all()), equal_columns.first
            )


def _column(block: Block, column_ref: ColumnRef) -> Array:
    array = block.pieces[column_ref[0]].array
    return array if array.ndim == 1 else array[:, column_ref[1]]


def _hash(values: npt.NDArray[Any]) -> int:
    if values.dtype.kind in "OUST":
        return hash(tuple(values.tolist()))
    as_numbers = values.astype(np.float64) if values.dtype.kind in "fiub" else values
    return int(hash_rows(np.ascontiguousarray(as_numbers).reshape(1, -1))[0])


CHECK = DuplicateColumnsCheck
