"""An even sample of rows in bounded memory: the longer the data, the larger the distance between rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array

MAX_SAMPLED_ROWS = 20_000


class RowSample:
    """Rows at equal distances over all rows so far."""

    def __init__(self, most: int = MAX_SAMPLED_ROWS) -> None:
        self._most, self._stride, self._seen = most, 1, 0
        self._kept: list[Array] = []
        self._count = 0

    def add(self, rows: Array) -> None:
        skip = -self._seen % self._stride
        self._seen += len(rows)
        taken = rows[skip :: self._stride].copy()
        self._kept.append(taken)
        self._count += len(taken)
        while self._count > 2 * self._most:
            self._thin()

    def _thin(self) -> None:
        everything = np.concatenate(self._kept)[::2]
        self._kept, self._count, self._stride = [everything], len(everything), self._stride * 2

    @property
    def rows(self) -> Any:
        return np.concatenate(self._kept) if self._kept else np.zeros((0, 1))
