"""Counts what broke an expectation and keeps the first few of it: no more memory for a billion than for five."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.data.block import Piece

MAX_EXAMPLES = 5


class Tally:
    """The number of values that broke an expectation, of how many, and the first few."""

    def __init__(self) -> None:
        self.broken = 0
        self.total = 0
        self.positions: list[tuple[int, ...]] = []
        self.values: list[Any] = []

    def add(self, piece: Piece, rows: npt.NDArray[Any], mask: npt.NDArray[np.bool_], first: int = 0) -> None:
        """Add what a mask of the same shape marks in rows of a piece that begin at its row `first`."""
        broken = int(np.count_nonzero(mask))
        self.broken += broken
        if not broken or len(self.positions) >= MAX_EXAMPLES:
            return
        for flat in np.flatnonzero(mask)[: MAX_EXAMPLES - len(self.positions)]:
            row, *rest = np.unravel_index(int(flat), mask.shape)
            self.positions.append(piece.position_of((int(row) + first, *(int(place) for place in rest))))
            self.values.append(plain_value(rows.reshape(-1)[flat]))

    def violation_fields(self) -> dict[str, Any]:
        """The fields of a violation that are counted."""
        return {
            "broken": self.broken,
            "total": self.total,
            "positions": tuple(self.positions),
            "values": tuple(self.values),
        }


def plain_value(value: Any) -> Any:
    """Without NumPy around it, and bytes as the text that they are."""
    value = value.item() if isinstance(value, np.generic) else value
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
