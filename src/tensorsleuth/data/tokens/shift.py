"""The shift of labels against the ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.data.tokens.padding import Marks

OFFSETS = (0, 1, 2, -1)  # label t is the id at t + offset
MIN_POSITIONS = 8  # needed for a verdict
MIN_AGREEMENT = 0.95


class ShiftAgreement:
    """The number of times that label t is the id at t + offset, for a few offsets, over all batches."""

    def __init__(self) -> None:
        self.same = dict.fromkeys(OFFSETS, 0)
        self.total = dict.fromkeys(OFFSETS, 0)

    def add(self, ids: npt.NDArray[Any], labels: npt.NDArray[Any], tokens: Marks, counted: Marks) -> None:
        """Add a batch. Only positions with tokens on both sides count."""
        width = ids.shape[1]
        for offset in OFFSETS:
            if width <= abs(offset):
                continue
            here = slice(max(0, -offset), width - max(0, offset))
            there = slice(max(0, offset), width - max(0, -offset))
            both = counted[:, here] & tokens[:, there] & tokens[:, here]
            self.total[offset] += int(np.count_nonzero(both))
            self.same[offset] += int(np.count_nonzero(both & (labels[:, here] == ids[:, there])))

    @property
    def offset(self) -> int | None:
        """The shift of the labels: the first offset that holds, or None if there is none or too little data."""
        for offset in OFFSETS:
            if self.total[offset] >= MIN_POSITIONS and self.same[offset] >= MIN_AGREEMENT * self.total[offset]:
                return offset
        return None

    @property
    def is_ambiguous(self) -> bool:
        """Return whether several offsets hold, as in rows of one token."""
        return sum(self.total[one] > 0 and self.same[one] >= MIN_AGREEMENT * self.total[one] for one in OFFSETS) > 1
