"""Rows of numbers or texts as a table, from arrays, lists of lists, ragged rows, or lists in text."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Piece

LIST_TEXT = re.compile(r"^\s*[\[(]?\s*-?\d+(?:\s*[,\s]\s*-?\d+)*\s*[\])]?\s*$")  # "[1, 2, 3]", "1 2 3"
NUMBER = re.compile(r"-?\d+")


@dataclass
class Grid:
    """Values, which of them exist (not all in ragged rows), and the shape of the user's own array."""

    values: Array
    present: npt.NDArray[np.bool_] | None
    shape: tuple[int, ...]
    dtype: str

    @property
    def ragged(self) -> bool:
        return self.present is not None

    @property
    def text(self) -> bool:
        return self.values.dtype.kind in "OUST"

    @property
    def is_integer(self) -> bool:
        """Return whether they are integers in an integer type."""
        return self.values.dtype.kind in "iu"

    def marks(self) -> npt.NDArray[np.bool_]:
        return self.present if self.present is not None else np.ones(self.values.shape, bool)


def grid_of(piece: Piece, rows: int) -> Grid:
    """Return the first `rows` rows of a piece of a block."""
    if piece.places is not None:
        return _spread(piece.array, piece.places - [piece.start, 0], rows, piece.dtype)
    if piece.array.dtype.kind in "OUS" and piece.array.ndim == 1 and len(piece.array) and are_list_texts(piece.array):
        return _parsed(piece.array)
    return Grid(piece.array, None, piece.shape, piece.dtype)


def are_list_texts(array: Array) -> bool:
    """Return whether all texts are lists of numbers. A single number is a word or a class."""
    texts = [str(text) for text in array[:64] if text is not None]
    several = any(len(NUMBER.findall(text)) > 1 for text in texts)
    return several and all(LIST_TEXT.match(text) or text.strip() in ("", "[]") for text in texts)


def _parsed(array: Array) -> Grid:
    rows = [[int(one) for one in NUMBER.findall("" if text is None else str(text))] for text in array]
    return grid_of_rows(rows)


def grid_of_rows(rows: list[list[int]]) -> Grid:
    """Return a table from lists of different lengths."""
    lengths = np.array([len(row) for row in rows])
    flat = np.array([one for row in rows for one in row])
    width = int(lengths.max(initial=0))
    if len(rows) and (lengths == width).all() and width:
        array = flat.reshape(len(rows), width)
        return Grid(array, None, array.shape, array.dtype.name)
    line = np.repeat(np.arange(len(rows)), lengths)
    first = np.cumsum(lengths) - lengths
    return _spread(flat, np.stack([line, np.arange(len(flat)) - first[line]], axis=1), len(rows), flat.dtype.name)


def _spread(values: Array, places: Array, rows: int, dtype: str) -> Grid:
    """Return ragged rows as a table, with nothing after the short ones."""
    width = int(places[:, -1].max(initial=-1)) + 1 if len(places) else 0
    table = np.zeros((rows, width), values.dtype if len(values) else np.int64)
    there = np.zeros((rows, width), bool)
    table[places[:, 0], places[:, -1]] = values
    there[places[:, 0], places[:, -1]] = True
    return Grid(table, there, (rows, -1), dtype)
