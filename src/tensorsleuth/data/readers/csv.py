"""Reads text files with values between commas (or tabs, in .tsv) with pandas, a range of lines at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tensorsleuth.data.block import Block, Column, SourceBase
from tensorsleuth.data.readers.file_errors import bad_file, import_needed, read_errors
from tensorsleuth.data.readers.frames import ROWS_PER_BLOCK, column_dtype, frame_block
from tensorsleuth.data.schema import Schema

SUFFIXES = (".csv", ".tsv")
MISSING_VALUES = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


class CsvSource(SourceBase):
    """A CSV file, whose first line names the columns."""

    def __init__(self, path: Path) -> None:
        self._path, self._pandas = path, import_needed("pandas", f"reading {path}")
        first = next(self._frames(), None)
        if first is None or not len(first.columns):
            raise bad_file(path, "has no rows", "The first line names the columns, the others hold values.")
        columns = tuple(Column(str(name), column_dtype(first[name].dtype), (None,)) for name in first.columns)
        super().__init__(str(path), columns)

    def blocks(self) -> Iterator[Block]:
        start = 0
        for frame in self._frames():
            yield frame_block(frame, start, typed=False)
            start += len(frame)

    def _frames(self) -> Iterator[Any]:
        separator = "\t" if self._path.suffix.lower() == ".tsv" else ","
        options = {"na_values": list(MISSING_VALUES), "keep_default_na": False, "index_col": False, "low_memory": False}
        with _ParserErrors(self._path, self._pandas), read_errors(self._path):
            yield from self._pandas.read_csv(self._path, sep=separator, chunksize=ROWS_PER_BLOCK, **options)


class _ParserErrors:
    """Turns the errors of pandas for a malformed line into a sentence."""

    def __init__(self, path: Path, pandas: Any) -> None:
        self._path, self._errors = path, pandas.errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        cause = error if isinstance(error, ValueError) else getattr(error, "__cause__", None)
        if isinstance(cause, self._errors.EmptyDataError):
            raise bad_file(self._path, "has no columns", "The first line names the columns.") from error
        if isinstance(cause, self._errors.ParserError):
            raise bad_file(self._path, *_malformed(str(cause))) from error


def _malformed(message: str) -> tuple[str, str]:
    found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message)
    if found:
        expected, line, saw = found.groups()
        return (
            f"has {saw} values in line {line}, where {expected} were expected",
            "Put quotes around values with commas.",
        )
    reason = " ".join(message.replace("Error tokenizing data. C error:", "").split()).rstrip(".")
    return f"has a malformed line ({reason})", "Is a quote left open?"


def open_file(path: Path, schema: Schema | None = None) -> CsvSource:
    return CsvSource(path)
