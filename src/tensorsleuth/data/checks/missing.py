"""Checks that no more values are missing than allowed: NaN in numbers, None and empty text, NaT."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature
from tensorsleuth.data.tally import Tally


class MissingCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        kind = piece.array.dtype.kind
        return kind in "OUSTmM" or (kind in "fc" and 0 < feature.missing < 1)  # at 0, finite.py reports NaN

    def inspect(self, state: Tally, feature: Feature, piece: Piece) -> None:
        state.total += piece.array.size
        if piece.numeric:
            for first, rows in piece.rows_where(piece.health["nan"] > 0):
                state.add(piece, rows, np.isnan(rows), first)
        else:
            state.add(piece, piece.array, piece.missing)

    def judge(self, name: str, feature: Feature, state: Tally) -> Iterator[Violation]:
        if state.broken > feature.missing * state.total:
            expected = f"at most {feature.missing:.4g} of the values missing" if feature.missing else "no value missing"
            found = f"{state.broken / state.total:.2%} missing"
            change = "Fill or drop them, or allow a share of them (missing = 0.1)."
            severity = "error" if self.case.schema is not None else "warning"
            yield Violation(
                "missing", name, expected, found, change=change, severity=severity, **state.violation_fields()
            )


CHECK = MissingCheck
