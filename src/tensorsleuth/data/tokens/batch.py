"""A batch for the checks: sequences of ids with their masks, labels and weights, and texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.data.block import MAX_EXACT_INTEGER
from tensorsleuth.data.cached import once
from tensorsleuth.data.tokens.grid import Grid
from tensorsleuth.data.tokens.padding import Ids, Marks, certain_padding
from tensorsleuth.data.tokens.settings import TokenSettings

MAX_ADDITIVE_MASK = -1000  # a mask with numbers below this is added to scores


@dataclass
class NamedGrid:
    """A part of the batch, with the user's name for it."""

    name: str
    grid: Grid

    @property
    def values(self) -> npt.NDArray[Any]:
        return self.grid.values


class TokenStream:
    """Rows of ids with their mask, labels and weights."""

    def __init__(
        self, ids: NamedGrid, token_settings: TokenSettings, start: int = 0, mask: NamedGrid | None = None,
        labels: NamedGrid | None = None, weights: NamedGrid | None = None, decoder: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.named_ids, self.setting, self.start = ids.name, ids, token_settings, start
        self.mask, self.labels, self.weights, self.decoder = mask, labels, weights, decoder

    @once
    def ids(self) -> Ids:
        """The ids as [rows, columns]; further leading dimensions count as rows."""
        values = self.named_ids.values
        if values.dtype.kind not in "iu":
            numbers = np.nan_to_num(values.astype(np.float64), nan=-1, posinf=-1, neginf=-1)
            values = np.clip(numbers, -MAX_EXACT_INTEGER, MAX_EXACT_INTEGER).astype(np.int64)
        return values.reshape(math.prod(values.shape[:-1]), values.shape[-1]) if values.ndim != 2 else values

    @once
    def present(self) -> Marks:
        return self.named_ids.grid.marks().reshape(self.ids.shape)

    @once
    def padding(self) -> Marks:
        """Return the positions that are certainly padding."""
        return certain_padding(self.ids, self.present, self.setting.pad, self.setting.pad_may_be_token)

    @once
    def tokens(self) -> Marks:
        """Return the positions that are certainly tokens."""
        return self.present & (self.ids != self.setting.pad) if self.setting.pad is not None else self.present

    @once
    def all_tokens(self) -> Marks:
        """Return which rows have no padding."""
        return np.asarray(self.present.all(axis=1) & ~self.padding.any(axis=1))

    @once
    def kept_by_mask(self) -> Marks | None:
        """Return where the mask says token; None if no mask fits each position."""
        return mask_as_bool(self.mask.values, self.ids.shape) if self.mask is not None else None

    @once
    def label_ids(self) -> Ids | None:
        """The labels, if there is one for each position, else None."""
        values = self.labels.values if self.labels is not None else None
        if values is None or values.dtype.kind not in "iuf" or values.size != self.ids.size or values.ndim < 2:
            return None
        same = values.shape in (self.named_ids.values.shape, (*self.named_ids.values.shape, 1))
        return values.reshape(self.ids.shape) if same else None

    @once
    def counted(self) -> Marks:
        """Return where labels count: all that are not `ignore` and have weight."""
        labels = self.label_ids
        marks = self.present if labels is None else self.present & (labels != self.setting.ignore)
        weights = self.weights.values if self.weights is not None else None
        if weights is not None and weights.dtype.kind in "iufb":
            if weights.size == self.ids.size:
                marks = marks & (weights.reshape(self.ids.shape) != 0)
            elif weights.size == len(self.ids):
                marks = marks & (weights.reshape(-1, 1) != 0)
        return marks

    def position_of(self, row: int, column: int | None = None) -> tuple[int, ...]:
        """Return the position in the user's array."""
        lead = self.named_ids.values.shape[:-1]
        first, *rest = (int(one) for one in np.unravel_index(row, lead)) if len(lead) > 1 else (int(row),)
        return (first + self.start, *rest, *(() if column is None else (int(column),)))


def mask_as_bool(mask: npt.NDArray[Any], shape: tuple[int, ...]) -> Marks | None:
    """Return a mask as a boolean for each position, or None if it does not have one for each."""
    one_each = mask.size == shape[0] * shape[1] and mask.shape[-1:] == shape[1:]
    if mask.dtype.kind not in "biuf" or not one_each:
        return None
    values = mask.reshape(shape)
    if is_triangle(mask):
        return None
    if values.dtype.kind == "b":
        return values
    added = values.size > 0 and values.max() <= 0 and values.min() <= MAX_ADDITIVE_MASK
    return np.asarray(values == 0 if added else values > 0)


def is_triangle(mask: npt.NDArray[Any]) -> bool:
    """Return whether all rows have the same mask that lets each position attend to itself and earlier ones only."""
    square = mask.ndim == 2 and mask.shape[0] == mask.shape[1] > 1
    return square and bool(np.array_equal(mask != 0, np.tri(len(mask), dtype=bool)))


@dataclass
class TokenBatch:
    """A batch: the same rows of all streams."""

    part: str
    start: int
    streams: list[TokenStream]
    texts: list[NamedGrid] = field(default_factory=list)
    companions: Mapping[str, NamedGrid] = field(default_factory=dict)  # by role: segments, positions
    rows: int = 0
