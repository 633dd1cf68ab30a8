"""Counts violations and keeps the first few, in memory that does not grow with their number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.data.block import Piece

MAX_EXAMPLES = 5


class Tally:
    """The number of values that broke an expectation, the number of all, and the first few violations."""

    def __init__(self) -> None:
        self.broken = 0
        self.total = 0
        self.positions: list[tuple[int, ...]] = []
        self.values: list[Any] = []

    def add(self, piece: Piece, rows: npt.NDArray[Any], mask: npt.NDArray[np.bool_], first: int = 0) -> None:
        """Add the values that `mask` marks in the rows of a piece from its row `first` on."""
        broken = int(np.count_nonzero(mask))
        self.broken += broken
        if not broken or len(self.positions) >= MAX_EXAMPLES:
            return
        for flat in np.flatnonzero(mask)[: MAX_EXAMPLES - len(self.positions)]:
            row, *rest = np.unravel_index(int(flat), mask.shape)
            self.positions.append(piece.position_of((int(row) + first, *(int(place) for place in rest))))
            self.values.append(plain_value(rows.reshape(-1)[flat]))

    def violation_fields(self) -> dict[str, Any]:
        """Return the counted fields of a violation."""
        return {
            "broken": self.broken,
            "total": self.total,
            "positions": tuple(self.positions),
            "values": tuple(self.values),
        }


def plain_value(value: Any) -> Any:
    """Return a value as a Python object, and bytes as text."""
    value = value.item() if isinstance(value, np.generic) else value
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
