"""Reads one array in a .npy file, mapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensorsleuth.data.readers.arrays import ArraySource
from tensorsleuth.data.readers.file_errors import bad_file
from tensorsleuth.data.schema import Schema

SUFFIXES = (".npy",)


def open_file(path: Path, schema: Schema | None = None) -> ArraySource:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "mmap" in str(error) and "length" in str(error):
            raise bad_file(path, "is cut short", "Was it written or copied to the end? Write it once more.") from error
        if "object" in str(error).lower():
            raise bad_file(
                path, "holds Python objects, which may run code when they are read", "Save numbers or text."
            ) from error
        raise
    return ArraySource(str(path), {"x": array}, {"x": False})
