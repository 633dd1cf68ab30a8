"""Finds infinities, and NaN in features that allow no missing values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature
from tensorsleuth.data.tally import Tally


class NonFiniteTally(Tally):
    nan = 0
    infinite = 0


class FiniteCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return piece.numeric and piece.array.dtype.kind in "fcV" and (feature.finite or not feature.missing)

    def new_state(self, feature: Feature, piece: Piece) -> NonFiniteTally:
        return NonFiniteTally()

    def inspect(self, state: NonFiniteTally, feature: Feature, piece: Piece) -> None:
        state.total += piece.array.size
        nan = piece.health["nan"] * (feature.missing == 0)
        infinite = (piece.health["pos_inf"] + piece.health["neg_inf"]) * int(feature.finite)
        if not (nan.any() or infinite.any()):
            return
        state.nan += int(nan.sum())
        state.infinite += int(infinite.sum())
        for first, rows in piece.rows_where((nan + infinite) > 0):
            mask = np.isnan(rows) if feature.missing == 0 else np.zeros(rows.shape, bool)
            state.add(piece, rows, mask | np.isinf(rows) if feature.finite else mask, first)

    def judge(self, name: str, feature: Feature, state: NonFiniteTally) -> Iterator[Violation]:
        if not state.broken:
            return
        found = " and ".join(
            text
            for count, text in ((state.nan, f"{state.nan:,} NaN"), (state.infinite, f"{state.infinite:,} infinite"))
            if count
        )
        expected = "finite values" if feature.finite else "no NaN"
        change = "Fill or drop what is missing" if state.nan else "Look for a division by 0 or an overflow before"
        more = ", or say how much may be missing (missing = 0.1)." if state.nan else ", or clip it."
        yield Violation("finite", name, expected, found, change=change + more, **state.violation_fields())


CHECK = FiniteCheck
