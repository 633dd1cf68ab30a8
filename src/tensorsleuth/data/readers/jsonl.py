"""Reads JSON lines, an object on each line: numbers, text, lists of numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Block, Column, Piece, SourceBase
from tensorsleuth.data.readers.file_errors import bad_file, read_errors
from tensorsleuth.data.readers.ragged import ragged_piece
from tensorsleuth.data.schema import Schema

SUFFIXES = (".jsonl", ".ndjson")
ROWS_PER_BLOCK = 4096
MAX_LINE_CHARS = 1 << 26  # of a line


class JsonLinesSource(SourceBase):
    """A file of JSON lines. The names in all objects are columns; an object without one has a missing value."""

    def __init__(self, path: Path) -> None:
        self._path = path
        first = next(self.blocks(), None)
        if first is None:
            raise bad_file(path, "has no rows", 'Each line is an object: {"text": "…"}.')
        columns = tuple(Column(name, piece.dtype, (None, *piece.shape[1:])) for name, piece in first.pieces.items())
        super().__init__(str(path), columns)

    def blocks(self) -> Iterator[Block]:
        with read_errors(self._path), self._path.open(encoding="utf-8") as file:
            objects, start = self._objects(file), 0
            while rows := list(islice(objects, ROWS_PER_BLOCK)):
                names = dict.fromkeys(name for row in rows for name in row)
                pieces = {name: self._piece(name, [row.get(name) for row in rows], start) for name in names}
                yield Block(start, pieces, whole=not any(piece.ragged for piece in pieces.values()), count=len(rows))
                start += len(rows)

    def _objects(self, file: Any) -> Iterator[dict[str, Any]]:
        number = 0
        while line := file.readline(MAX_LINE_CHARS):
            number += 1
            if not line.strip():
                continue
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise bad_file(self._path, f"is not JSON in line {number} ({error})", "Write it once more.") from error
            if not isinstance(found, dict):
                raise bad_file(self._path, f"has no object in line {number}", "Each line is an object.")
            yield found

    def _piece(self, name: str, values: Sequence[Any], start: int) -> Piece:
        if any(isinstance(value, list) for value in values):
            return self._lists(name, [value if isinstance(value, list) else [] for value in values], start)
        return Piece(self._array(name, values), None, start)

    def _lists(self, name: str, rows: list[list[Any]], start: int) -> Piece:
        lengths = np.array([len(row) for row in rows])
        flat = self._array(name, [one for row in rows for one in row])
        if lengths.min() == lengths.max() > 0:
            return Piece(flat.reshape(len(rows), -1), None, start)
        return ragged_piece(flat, lengths, start)

    def _array(self, name: str, values: Sequence[Any]) -> Array:
        """Return numbers, with NaN if missing; text if some values are text."""
        if any(isinstance(value, (dict, list)) for value in values):
            advice = "Numbers, text and lists of them can be read."
            raise bad_file(self._path, f"has objects or lists of lists in {name}", advice)
        if any(isinstance(value, str) for value in values):
            texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
            return np.array(texts, object)
        array = np.array([np.nan if value is None else value for value in values])
        return array if array.dtype.kind != "O" else self._large(name, array)

    def _large(self, name: str, array: Array) -> Array:
        """Return integers that exceed 64 bits."""
        try:
            return array.astype(np.float64)
        except OverflowError as error:
            raise bad_file(self._path, f"has a number in {name} that is too large", "Write it as text.") from error


def open_file(path: Path, schema: Schema | None = None) -> JsonLinesSource:
    return JsonLinesSource(path)
