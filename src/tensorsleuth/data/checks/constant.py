"""Finds features, and columns of two-dimensional ones, that never change: a model learns nothing from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.data.tally import plain_value

MAX_LISTED_COLUMNS = 5


class ConstantColumns:
    """The first row, and the columns that have equalled it so far."""

    def __init__(self, first: Array) -> None:
        self.first = first
        self.columns = np.arange(first.size)  # columns that have not changed yet
        self.rows = 0

    def add(self, rows: Array) -> None:
        self.rows += len(rows)
        if len(self.columns):
            kept = rows if len(self.columns) == rows.shape[1] else rows[:, self.columns]
            self.columns = self.columns[equals_first(kept, self.first[self.columns]).all(axis=0)]


class ConstantCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return not feature.constant and not piece.ragged and len(piece.array) > 0

    def new_state(self, feature: Feature, piece: Piece) -> ConstantColumns:
        return ConstantColumns(as_table(piece.array)[0].copy())

    def inspect(self, state: ConstantColumns, feature: Feature, piece: Piece) -> None:
        if len(state.columns) and as_table(piece.array).shape[1] == state.first.size:
            state.add(as_table(piece.array))
        else:
            state.rows += len(piece.array)

    def judge(self, name: str, feature: Feature, state: ConstantColumns) -> Iterator[Violation]:
        if state.rows < 2 or not len(state.columns) or is_missing(state.first).all():
            return
        if len(state.columns) == state.first.size:
            found = f"{format_value(plain_value(state.first[0]))} in each of {state.rows:,} rows"
            what = (
                "Every row has the same label: was the data sorted and cut?" if isinstance(feature, Label) else _ADVICE
            )
            yield Violation("constant", name, "values that differ", found, change=what)
        elif state.columns.size < state.first.size and state.first.ndim == 1 and self._is_table(name):
            columns = ", ".join(str(column) for column in state.columns[:MAX_LISTED_COLUMNS])
            more = ", …" if len(state.columns) > MAX_LISTED_COLUMNS else ""
            found = f"{len(state.columns):,} of {state.first.size:,} columns constant (column {columns}{more})"
            yield Violation("constant", name, "columns that differ", found, change=_ADVICE, severity="warning")

    def _is_table(self, name: str) -> bool:
        """Return whether it is a table. In images, a corner that is always black is not worth reporting."""
        shapes = [column.shape for columns in self.case.columns.values() for column in columns if column.name == name]
        return all(shape is not None and len(shape) == 2 for shape in shapes)


_ADVICE = "Leave it out, or say constant = true."


def as_table(array: Array) -> Array:
    """Return rows of columns, for arrays of any rank."""
    return array.reshape(len(array), -1)


def equals_first(rows: Array, first: Array) -> npt.NDArray[Any]:
    """Return which values equal those of the first row; NaN equals NaN."""
    equal = np.asarray(rows == first)
    return equal | ((rows != rows) & (first != first)) if rows.dtype.kind in "fcO" and not equal.all() else equal


def is_missing(first: Array) -> npt.NDArray[np.bool_]:
    """Return whether all is missing, which another check reports."""
    return Piece(first).missing


CHECK = ConstantCheck
