"""Reads arrays, and dicts and tuples of arrays, in memory or mapped from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Block, Column, Piece, SourceBase, dtype_name, rows_per_block
from tensorsleuth.data.part_names import named_leaves
from tensorsleuth.data.schema import Schema


class ArrayRows(Protocol):
    """An array, or an object that is read like one from its first row to its last."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __getitem__(self, rows: slice, /) -> Any: ...


class ArraySource(SourceBase):
    """Columns whose first dimension counts rows. A block has the same rows of all columns."""

    def __init__(self, title: str, arrays: Mapping[str, ArrayRows], named: Mapping[str, bool] | None = None) -> None:
        columns = [
            Column(name, dtype_name(array.dtype), array.shape, named is None or named[name])
            for name, array in arrays.items()
        ]
        super().__init__(title, tuple(columns), max((_length(array) for array in arrays.values()), default=0))
        self._arrays, self.can_prefetch = arrays, True

    def blocks(self) -> Iterator[Block]:
        step, rows = (
            rows_per_block({name: array for name, array in self._arrays.items() if array.shape}),
            self.rows or 0,
        )
        for start in range(0, max(rows, 1), step):
            there = {name: array for name, array in self._arrays.items() if start == 0 or start < _length(array)}
            pieces = {name: _cut(array, start, start + step) for name, array in there.items()}
            yield Block(start, pieces, whole=len(pieces) == len(self._arrays))


def _length(array: ArrayRows) -> int:
    return int(array.shape[0]) if array.shape else 1


def _cut(array: ArrayRows, start: int, stop: int) -> Piece:
    rows = array[start:stop] if array.shape else np.asarray(array).reshape(1)
    return Piece(np.asarray(rows), array.shape, start)


def takes(data: Any) -> bool:
    return isinstance(data, (Mapping, tuple, list, np.ndarray)) or (
        type(data).__module__.startswith("tensorflow") and hasattr(data, "__array__")
    )


def open_data(data: Any, schema: Schema | None = None) -> ArraySource:
    if isinstance(data, list) and not any(hasattr(one, "shape") for one in data):
        data = np.asarray(data)  # numbers, or rows of numbers
    leaves = list(named_leaves(data))
    arrays = {name: _array(name, leaf) for name, leaf, _ in leaves}
    if not arrays:
        raise SleuthError("the data contains no array. Pass arrays, or a dict of them.")
    return ArraySource("the data", arrays, {name: named for name, _, named in leaves})


def _array(name: str, leaf: Any) -> Array:
    try:
        array = np.asarray(leaf)
    except (TypeError, ValueError) as error:
        raise SleuthError(
            f"{name} cannot be made an array: {error}. Ragged data can be given as a tf.data.Dataset."
        ) from error
    if (
        array.dtype.kind == "O"
        and array.size
        and not isinstance(array.reshape(-1)[0], (str, bytes, float, int, type(None)))
    ):
        kind = type(array.reshape(-1)[0]).__name__
        raise SleuthError(f"{name} holds objects of type {kind}: numbers and text can be checked.")
    return array
