"""Blocks of rows, the form in which all sources pass data to the checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.modes import Mode
from tensorsleuth.data.cached import once
from tensorsleuth.native.row_health import hash_rows, health_of_rows, is_number

BLOCK_BYTES = 4 << 20  # large enough to make Python's overhead small, small enough for the cache
GROUP_BYTES = 8192  # rows are examined in groups of about this size
MAX_EXACT_INTEGER = 2**53  # doubles are exact for integers up to here


@dataclass(frozen=True)
class Column:
    """A part of a data set, with what is known before reading."""

    name: str
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    named: bool = True  # whether the name is the user's, or only an index in a tuple


class Piece:
    """The rows of one column in a block."""

    def __init__(
        self, array: Array, shape: tuple[int, ...] | None = None, start: int = 0, dtype: str | None = None,
        places: Array | None = None, typed: bool = True,
    ) -> None:  # fmt: skip
        self.array = array
        self.shape = array.shape if shape is None else shape  # of the whole array, of which this is a part
        self.start = start
        self.dtype = dtype or dtype_name(array.dtype)  # the type that the source declares
        self.typed = typed  # whether the source has types, or only text
        self.places = places  # for ragged and sparse data: row and position of each value

    @property
    def ragged(self) -> bool:
        return self.places is not None

    def position_of(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Return the position of this piece's value in the whole."""
        if self.places is not None:
            return tuple(int(place) for place in self.places[index[0]])
        return (self.start + int(index[0]), *(int(place) for place in index[1:])) if self.shape else ()

    @property
    def numeric(self) -> bool:
        return is_number(self.array.dtype)

    @once
    def rows_per_group(self) -> int:
        return max(1, GROUP_BYTES // max(1, self.array[:1].nbytes))

    @once
    def health(self) -> Array:
        """The native kernel's health of each group of rows; the last group is shorter."""
        return health_of_rows(self.array, Mode.FULL_HEALTH, self.rows_per_group)

    @once
    def range(self) -> tuple[float, float] | None:
        """The smallest and largest of the finite values."""
        low, high = (float(pick(self.health[end])) for pick, end in ((_least, "min"), (_greatest, "max")))
        if np.isnan(low):
            return None
        if self.array.dtype.kind in "iu" and max(abs(low), abs(high)) >= MAX_EXACT_INTEGER:
            return int(self.array.min()), int(self.array.max())
        return (int(low), int(high)) if self.array.dtype.kind in "iub" else (low, high)

    def rows_where(self, groups: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Array]]:
        """Yield the rows of these groups, each with the index of its first row."""
        for group in np.flatnonzero(groups):
            first = int(group) * self.rows_per_group
            yield first, self.array[first : first + self.rows_per_group]

    @once
    def missing(self) -> npt.NDArray[np.bool_]:
        """Return which values are missing: NaN, NaT, None, or empty text."""
        kind = self.array.dtype.kind
        if kind in "fcV":
            return np.isnan(self.array)
        if kind in "mM":
            return np.isnat(self.array)
        if kind in "US":
            return np.asarray(np.char.str_len(self.array) == 0)
        return missing_objects(self.array) if kind in "OT" else np.zeros(self.array.shape, bool)


def _least(values: Array) -> Any:
    return np.fmin.reduce(values, initial=np.nan)


def _greatest(values: Array) -> Any:
    return np.fmax.reduce(values, initial=np.nan)


def missing_objects(array: Array) -> npt.NDArray[np.bool_]:
    flat = [value is None or value in ("", b"") or value != value for value in array.reshape(-1).tolist()]
    return np.array(flat, bool).reshape(array.shape)


@dataclass
class Block:
    """Some consecutive rows of all columns of a source. Shorter columns have fewer."""

    start: int
    pieces: Mapping[str, Piece]
    part: str = "data"  # or validation, against
    whole: bool = True  # whether it has every column
    count: int | None = None  # number of rows, if no piece shows it
    _hashes: dict[tuple[str, ...], npt.NDArray[np.uint64] | None] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        return (
            self.count
            if self.count is not None
            else max((len(piece.array) for piece in self.pieces.values() if not piece.ragged), default=0)
        )

    def hashes(self, names: tuple[str, ...]) -> npt.NDArray[np.uint64] | None:
        """Return a hash of each row over these columns, or None unless the block has all of them in full."""
        if names not in self._hashes:
            pieces = [self.pieces.get(name) for name in names]
            whole = all(piece is not None and not piece.ragged and len(piece.array) == self.rows for piece in pieces)
            self._hashes[names] = (
                row_hashes([piece.array for piece in pieces if piece is not None]) if whole and names else None
            )
        return self._hashes[names]


def row_hashes(arrays: list[Array]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row over several arrays of text or numbers."""
    hashes: npt.NDArray[np.uint64] | None = None
    for array in arrays:
        hashes = hash_rows(array if array.dtype.kind not in "OUST" else _text_numbers(array), hashes)
    assert hashes is not None
    return hashes


def _text_numbers(array: Array) -> npt.NDArray[np.uint64]:
    """Return a hash of each text, the same in every block."""
    from hashlib import blake2b  # loads OpenSSL

    found, places = np.unique(array.astype(str), return_inverse=True)
    each = [
        int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
        for text in found
    ]
    return np.array(each, np.uint64)[places].reshape(array.shape)


class DataSource(Protocol):
    """The user's data, as a reader presents it."""

    title: str
    columns: tuple[Column, ...]
    rows: int | None  # if known before reading
    notes: list[str]  # parts that are not checked, and why
    can_prefetch: bool  # whether another thread may read, because no code of the user runs

    def blocks(self) -> Iterator[Block]: ...


@dataclass
class SourceBase:
    """A source with a title, columns, and a function that reads."""

    title: str
    columns: tuple[Column, ...]
    rows: int | None = None
    notes: list[str] = field(default_factory=list)
    can_prefetch: bool = False


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return a name such as `float32`, `string` or `datetime64…`."""
    if dtype.kind in "OUST":
        return "string"
    return dtype.name.partition("[")[0] if dtype.kind in "mM" else dtype.name


def rows_per_block(arrays: Mapping[str, Any]) -> int:
    """Return the number of rows of a block."""
    bytes_a_row = sum(int(np.prod(array.shape[1:])) * array.dtype.itemsize for array in arrays.values())
    return int(max(1, BLOCK_BYTES // max(1, bytes_a_row)))
