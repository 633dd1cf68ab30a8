"""Hashes of the rows of token ids that a model was trained on, and that `fit` validated with, from every step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import TraceError
from tensorsleuth.core.layout.rows import INPUT_ROW, LongRowFlag
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.storage.ring_reader import RingFile

ROWS_FILE = "inside_row_hashes.bin"
Padding = int | None  # the padding id, if it is known
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # so that two inputs with the same text do not cancel out


class InputRows:
    """The input rows of one process, without overwritten or unreadable ones."""

    def __init__(self, process: ProcessTrace) -> None:
        self._path = process.folder / ROWS_FILE

    @cached_property
    def _rows(self) -> Array:
        try:
            rows = RingFile(self._path, INPUT_ROW).array
        except TraceError:  # an old trace has no such file
            rows = np.empty(0, INPUT_ROW)
        return np.asarray(rows[rows["kind"] == 1])

    def fits(self, series: int) -> list[int]:
        """Return the numbers of the `fit` calls in which a series was recorded."""
        return [int(fit) for fit in np.unique(self._rows["fit"][self._rows["series"] == series])]

    def samples(self, inputs: Mapping[int, Padding], fit: int) -> Array:
        """Return the distinct samples of a fit as sorted numbers. A sample combines one row of each of these series."""
        parts = [self._of(series, padding, fit) for series, padding in inputs.items()]
        if not parts:
            return np.empty(0, np.uint64)
        hashes, is_long = _hashes(*parts[0]) if len(parts) == 1 else _joined(parts)
        return np.unique(hashes[is_long])

    def _of(self, series: int, padding: Padding, fit: int) -> tuple[Array, Padding]:
        return self._rows[(self._rows["series"] == series) & (self._rows["fit"] == fit)], padding


def _hashes(rows: Array, padding: Padding) -> tuple[Array, Array]:
    """Return the hash of each row without its padding, and whether the rest is long enough to identify a text."""
    pad = np.uint32((padding or 0) & 0xFFFFFFFF)
    ends, begins = ((rows[edge] == pad) & (padding is not None) for edge in ("last", "first"))
    names = np.select([ends, begins], [1, 2], 0)
    hashes = np.choose(names, [rows["whole"], rows["tailless"], rows["headless"]])
    is_long = (
        rows["flags"]
        & np.choose(names, np.array([LongRowFlag.WHOLE, LongRowFlag.TAILLESS, LongRowFlag.HEADLESS], np.uint8))
        != 0
    )
    return hashes, is_long


def _joined(parts: list[tuple[Array, Padding]]) -> tuple[Array, Array]:
    """Return samples that combine several inputs: a text and its question count as repeated only together."""
    keyed = [_by_place(rows, padding) for rows, padding in parts]
    places = keyed[0][0]
    for known, _, _ in keyed[1:]:
        places = np.intersect1d(places, known, assume_unique=True)
    hashes, is_long = np.zeros(len(places), np.uint64), np.zeros(len(places), bool)
    for known, parts_of, long in keyed:
        at = np.searchsorted(known, places)
        hashes = hashes * _HASH_FACTOR + parts_of[at]
        is_long |= long[at]
    return hashes, is_long


def _by_place(rows: Array, padding: Padding) -> tuple[Array, Array, Array]:
    """Return each row's position as one ascending number, its hash and whether it is long. Replicas repeat some."""
    places, first, times = np.unique(rows["batch"] + rows["row"], return_index=True, return_counts=True)
    hashes, is_long = _hashes(rows[first], padding)
    once = times == 1
    return places[once], hashes[once], is_long[once]
