"""Reads Parquet files with pyarrow, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Block, Column, Piece, SourceBase
from tensorsleuth.data.readers.file_errors import import_needed, read_errors
from tensorsleuth.data.readers.ragged import ragged_piece
from tensorsleuth.data.schema import Schema

SUFFIXES = (".parquet", ".pq")
ROWS_PER_BLOCK = 16_384
DTYPE_NAMES = {"double": "float64", "float": "float32", "halffloat": "float16", "bool": "bool"}


class ParquetSource(SourceBase):
    def __init__(self, path: Path) -> None:
        parquet = import_needed("pyarrow.parquet", f"reading {path}")
        self._path, self._types = path, import_needed("pyarrow.types", f"reading {path}")
        self._file = parquet.ParquetFile(path)
        rows = self._file.metadata.num_rows
        columns = tuple(Column(one.name, self._name(one.type), (rows,)) for one in self._file.schema_arrow)
        super().__init__(str(path), columns, rows)

    def blocks(self) -> Iterator[Block]:
        start = 0
        with read_errors(self._path):
            for batch in self._file.iter_batches(ROWS_PER_BLOCK):
                yield Block(
                    start, {one.name: self._piece(batch.column(i), start) for i, one in enumerate(batch.schema)}
                )
                start += batch.num_rows
            if not self.rows:
                yield Block(0, {column.name: Piece(np.zeros(0, _empty(column))) for column in self.columns})

    def _piece(self, column: Any, start: int) -> Piece:
        kind = column.type
        if self._types.is_fixed_size_list(kind) and not column.null_count:
            array = _plain(column.flatten()).reshape(-1, kind.list_size)
            return Piece(array, (self.rows or 0, kind.list_size), start, self._name(kind))
        if self._types.is_list(kind) or self._types.is_large_list(kind) or self._types.is_fixed_size_list(kind):
            lengths = np.asarray(column.value_lengths().fill_null(0))
            return ragged_piece(_plain(column.flatten()), lengths, start, self._name(kind))
        if self._types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        return Piece(_plain(column), (self.rows or 0,), start, self._name(kind))

    def _name(self, kind: Any) -> str:
        """Return the type's name as in a schema; for a list, the type of its values."""
        while hasattr(kind, "value_type"):
            kind = kind.value_type
        if self._types.is_temporal(kind):
            return "datetime64"
        numeric = self._types.is_integer(kind) or self._types.is_floating(kind) or self._types.is_boolean(kind)
        return (
            DTYPE_NAMES.get(str(kind), str(kind))
            if numeric
            else "float64"
            if self._types.is_decimal(kind)
            else "string"
        )


def _plain(column: Any) -> Array:
    """Convert a column to NumPy; missing numbers become NaN."""
    if str(column.type).startswith("decimal"):
        column = column.cast("float64")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _empty(column: Column) -> Any:
    return object if column.dtype == "string" else "datetime64[ns]" if column.dtype == "datetime64" else column.dtype


def open_file(path: Path, schema: Schema | None = None) -> ParquetSource:
    return ParquetSource(path)
