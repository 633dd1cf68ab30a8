"""Finds unsuitable types: ids as floats or in too few bits, masks that cannot be subtracted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import MAX_ADDITIVE_MASK, NamedGrid, TokenBatch
from tensorsleuth.data.tokens.check import FormCheck

MAX_EXACT_BFLOAT16 = 256  # integers up to here are exact; NumPy does not know bfloat16


class TokenDtypesCheck(FormCheck):
    def violations_in(self, token_batch: TokenBatch) -> Iterator[Violation | None]:
        for stream in token_batch.streams:
            yield self._of_ids(stream.named_ids)
            yield self._of_mask(stream.mask) if stream.mask is not None else None

    def _of_ids(self, ids: NamedGrid) -> Violation | None:
        dtype, values = ids.values.dtype, ids.values
        size = self.setting.vocabulary.size
        if dtype.kind == "b":
            return _wrong(ids, "integers", "True and False", "Are ids and mask swapped?")
        if dtype.kind in "iu":
            top = int(np.iinfo(dtype).max)
            if size is None or top >= size - 1:
                return None
            found = f"{dtype}, which ends at {top:,}, for a vocabulary of {size:,}"
            return _wrong(ids, "a type that holds every id", found, "Larger ids wrap around to other ids: use int32.")
        return self._of_floats(ids, values, size)

    def _of_floats(self, ids: NamedGrid, values: Any, size: int | None) -> Violation | None:
        exact = 2 ** (np.finfo(values.dtype).nmant + 1) if values.dtype.kind == "f" else MAX_EXACT_BFLOAT16
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
            change = "These are no ids: are they embedded already?"
            return _wrong(ids, "integers", f"{values.dtype} with fractions or NaN", change)
        top = max(size or 0, int(numbers.max(initial=0)))
        if top > exact:
            found = f"{values.dtype}, which is exact up to {exact:,}, for ids up to {top:,}"
            return _wrong(ids, "integers", found, "Larger ids are rounded to other ids: use int32.")
        change = "Convert them: ids.astype('int32'); Keras's Input takes dtype='int32'."
        return replace(_wrong(ids, "integers", str(values.dtype), change), severity="warning")

    def _of_mask(self, mask: NamedGrid) -> Violation | None:
        values = mask.values
        if values.dtype.kind == "u":
            change = "Unsigned numbers wrap: mask - 1 is 255, not -1. Cast it to bool, int32 or float32."
            return replace(_wrong(mask, "bool, int32 or float32", str(values.dtype), change), severity="warning")
        return _of_mask_values(mask) if values.dtype.kind in "if" and values.size else None


def _of_mask_values(mask: NamedGrid) -> Violation | None:
    """Return a violation unless a mask has 0 and 1, or 0 and large negative numbers, or numbers of packed texts."""
    values = mask.values[mask.grid.marks()] if mask.grid.ragged else mask.values
    if ((values == 0) | (values == 1)).all():
        return None
    there = np.unique(values)
    if there[-1] <= 0 and there[0] <= MAX_ADDITIVE_MASK:
        return None
    packed = (
        there[0] >= 0
        and np.isfinite(there).all()
        and np.array_equal(there[there > 0], np.arange(1, len(there[there > 0]) + 1))
    )
    if packed:
        return None
    listed = ", ".join(f"{one:g}" for one in there[:4]) + (", …" if len(there) > 4 else "")
    return _wrong(mask, "0 and 1", f"{listed} ({mask.values.dtype})", "Compute it from the ids: ids != pad.")


def _wrong(one: NamedGrid, expected: str, found: str, change: str) -> Violation:
    return Violation("token-dtype", one.name, expected, found, change=change)


CHECK = TokenDtypesCheck
