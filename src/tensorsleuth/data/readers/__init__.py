"""Readers of data, one kind in each file. A new file is found automatically. It has one or both of:

- `SUFFIXES` and `open_file(path, schema) -> Source`
- `takes(data) -> bool` and `open_data(data, schema) -> Source`
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import DataSource
from tensorsleuth.data.readers.file_errors import bad_file, check_magic_bytes, read_errors
from tensorsleuth.data.schema import Schema


@cache
def readers() -> tuple[ModuleType, ...]:
    return tuple(import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))


def suffixes() -> dict[str, ModuleType]:
    return {suffix: one for one in readers() for suffix in getattr(one, "SUFFIXES", ())}


def open_source(data: Any, schema: Schema | None = None) -> DataSource:
    """Open a path, or data in memory, with the reader that accepts it."""
    if isinstance(data, (str, PathLike)):
        return open_file(Path(data), schema)
    for reader in readers():
        if hasattr(reader, "takes") and reader.takes(data):
            source: DataSource = reader.open_data(data, schema)
            return source
    kinds = "arrays, dicts and tuples of them, pandas frames, tf.data.Dataset, Keras Sequences and paths of files"
    raise SleuthError(f"cannot read data of type {type(data).__name__}: there is a reader for {kinds}.")


def open_file(path: Path, schema: Schema | None = None) -> DataSource:
    known = suffixes()
    if path.is_dir():
        raise bad_file(path, "is a folder", f"Name a file in it: {', '.join(known)}.")
    if not path.exists():
        raise bad_file(path, "is not there", "Is the path right?")
    reader = known.get(path.suffix.lower())
    if reader is None:
        raise bad_file(
            path, f"has a suffix that no reader knows ({path.suffix or 'none'})", f"Known are {', '.join(known)}."
        )
    with read_errors(path):
        if path.stat().st_size == 0:
            raise bad_file(path, "is empty", "Was it written to the end?")
        check_magic_bytes(path)
        source: DataSource = reader.open_file(path, schema)
    return source
