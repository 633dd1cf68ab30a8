"""Reads text files, one sample on each line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from tensorsleuth.data.block import Block, Column, Piece, SourceBase
from tensorsleuth.data.readers.file_errors import read_errors
from tensorsleuth.data.schema import Schema

SUFFIXES = (".txt",)
ROWS_PER_BLOCK = 16_384


class TextLinesSource(SourceBase):
    """A text file with one column, `text`. Invalid UTF-8 becomes replacement characters, which checks can find."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(str(path), (Column("text", "string", (None,)),))

    def blocks(self) -> Iterator[Block]:
        start = 0
        with read_errors(self._path), self._path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            while lines := [line.removesuffix("\n").removesuffix("\r") for line in islice(file, ROWS_PER_BLOCK)]:
                texts = np.empty(len(lines), object)
                texts[:] = lines
                yield Block(start, {"text": Piece(texts, None, start)})
                start += len(lines)


def open_file(path: Path, schema: Schema | None = None) -> TextLinesSource:
    return TextLinesSource(path)
