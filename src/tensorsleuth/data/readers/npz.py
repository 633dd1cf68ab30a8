"""Reads the arrays of a .npz file: mapped if they are stored uncompressed, else unpacked piece by piece."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Block
from tensorsleuth.data.readers.arrays import ArrayRows, ArraySource
from tensorsleuth.data.readers.file_errors import bad_file, read_errors
from tensorsleuth.data.readers.mapped import MappedArray
from tensorsleuth.data.schema import Schema

SUFFIXES = (".npz",)
LOCAL_HEADER = 30  # bytes of a member's own header, before its name


class NpyHeader(NamedTuple):
    """The header in front of an array's numbers."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    size: int  # of this header


class NpzSource(ArraySource):
    """A .npz file. Errors name the file."""

    def __init__(self, path: Path, arrays: dict[str, ArrayRows]) -> None:
        super().__init__(str(path), arrays)
        self._path = path

    def blocks(self) -> Iterator[Block]:
        try:
            with read_errors(self._path):
                yield from super().blocks()
        finally:
            for array in self._arrays.values():
                if isinstance(array, CompressedArray):
                    array.close()


def open_file(path: Path, schema: Schema | None = None) -> ArraySource:
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        if not members:
            raise bad_file(path, "holds no arrays", "It is a zip file, but nothing in it ends in .npy.")
        return NpzSource(path, {info.filename.removesuffix(".npy"): _member(path, archive, info) for info in members})


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ArrayRows:
    with archive.open(info) as stream:
        header = _header(path, info, stream)
    if info.compress_type == zipfile.ZIP_STORED:
        return _mapped(path, info, header)
    if header.fortran and len(header.shape) > 1:  # its rows are not contiguous
        with archive.open(info) as stream:
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
    return CompressedArray(path, info, header)


def _header(path: Path, info: zipfile.ZipInfo, stream: IO[bytes]) -> NpyHeader:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        advice = "Save numbers or text (not dtype=object)."
        raise bad_file(path, f"holds Python objects in {info.filename}, which may run code when they are read", advice)
    return NpyHeader(shape, fortran, dtype, stream.tell())


def _mapped(path: Path, info: zipfile.ZipInfo, npy_header: NpyHeader) -> ArrayRows:
    """Return the array mapped from the file."""
    if not np.prod(npy_header.shape):
        return np.zeros(npy_header.shape, npy_header.dtype)
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(LOCAL_HEADER)
    lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    offset = info.header_offset + LOCAL_HEADER + lengths + npy_header.size
    if npy_header.fortran and len(npy_header.shape) > 1:
        return np.memmap(path, npy_header.dtype, "r", offset, npy_header.shape, "F")
    return MappedArray(path, npy_header.dtype, npy_header.shape, offset)


class CompressedArray:
    """A compressed array, read from its first row to its last."""

    def __init__(self, path: Path, info: zipfile.ZipInfo, npy_header: NpyHeader) -> None:
        self.shape, self.dtype = npy_header.shape, npy_header.dtype
        self._path, self._info, self._header = path, info, npy_header
        self._archive: zipfile.ZipFile | None = None
        self._stream: IO[bytes] | None = None
        self._row = 0
        self._bytes_a_row = int(np.prod(npy_header.shape[1:])) * npy_header.dtype.itemsize

    def __getitem__(self, rows: slice) -> Array:
        start, stop, _ = rows.indices(self.shape[0])
        if self._stream is None or start != self._row:
            self._rewind()
        wanted = max(0, stop - start) * self._bytes_a_row
        assert self._stream is not None
        data = self._stream.read(wanted)
        if len(data) < wanted:
            raise EOFError(f"{self._info.filename} ends early")
        self._row = stop
        return np.frombuffer(data, self.dtype).reshape(stop - start, *self.shape[1:])

    def _rewind(self) -> None:
        """Return to the first row: blocks are read in order, possibly several times."""
        self.close()
        self._archive = zipfile.ZipFile(self._path)
        self._stream = self._archive.open(self._info)
        self._stream.seek(self._header.size)
        self._row = 0

    def close(self) -> None:
        for one in (self._stream, self._archive):
            if one is not None:
                one.close()
        self._stream = self._archive = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """Return the array of a single value."""
        with zipfile.ZipFile(self._path) as archive, archive.open(self._info) as stream:
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
