"""Reads TFRecord files of tf.Example. Framing and checksums are checked here, TensorFlow parses the examples."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Block, Column, Piece, SourceBase, dtype_name
from tensorsleuth.data.readers.file_errors import DataFileError, bad_file, import_needed, read_errors
from tensorsleuth.data.readers.ragged import ragged_piece
from tensorsleuth.data.schema import Schema
from tensorsleuth.native.row_health import crc32c

SUFFIXES = (".tfrecord", ".tfrecords", ".tfrec", ".records")
ROWS_PER_BLOCK = 1024
MAX_RECORD_BYTES = 1 << 31  # of a record: protobuf reads no longer message
DTYPES: dict[str, Any] = {"float_list": np.float32, "int64_list": np.int64, "bytes_list": object}


class TFRecordSource(SourceBase):
    def __init__(self, path: Path) -> None:
        tf: Any = import_needed("tensorflow", f"reading the tf.Examples of {path}")
        self._path, self._parse = path, tf.train.Example.FromString
        first = next(self._blocks(), None)
        if first is None:
            raise bad_file(path, "holds no records", "Was it written to the end?")
        columns = (Column(name, piece.dtype, (None, *piece.array.shape[1:])) for name, piece in first.pieces.items())
        super().__init__(str(path), tuple(columns))

    def blocks(self) -> Iterator[Block]:
        return self._blocks()

    def _blocks(self) -> Iterator[Block]:
        with read_errors(self._path), _opened(self._path) as file:
            records, start = read_records(self._path, file), 0
            while examples := [
                self._example(record, start + i) for i, record in enumerate(islice(records, ROWS_PER_BLOCK))
            ]:
                yield _block(examples, start)
                start += len(examples)

    def _example(self, record: bytes, row: int) -> dict[str, Array]:
        try:
            feature = self._parse(record).features.feature
        except Exception as error:  # protobuf's own error, which has no public name in every version
            raise bad_file(
                self._path, f"has no tf.Example in record {row}", "Only tf.Examples can be checked."
            ) from error
        return {name: _values(one) for name, one in sorted(feature.items())}


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def read_records(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of a file, and check their checksums."""
    number, at = 0, 0
    while head := file.read(12):
        length = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else 0
        if len(head) < 12 or _masked(head[:8]) != struct.unpack("<I", head[8:])[0] or length > MAX_RECORD_BYTES:
            raise _damaged(path, number, at, "the checksum of its length is wrong")
        body = file.read(length + 4)
        if len(body) < length + 4:
            raise _damaged(path, number, at, f"it is cut short: {len(body):,} of {length + 4:,} bytes")
        if _masked(body[:-4]) != struct.unpack("<I", body[-4:])[0]:
            raise _damaged(path, number, at, "its checksum is wrong")
        yield body[:-4]
        number, at = number + 1, at + 16 + length


def _damaged(path: Path, number: int, at: int, what: str) -> DataFileError:
    return bad_file(path, f"is damaged in record {number}, byte {at:,}: {what}", "Copy or write it once more.")


def _masked(data: bytes) -> int:
    """Return CRC-32C as in TFRecord: rotated by 15 bits, plus a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _values(feature: Any) -> Array:
    kind = feature.WhichOneof("kind") or "float_list"
    listed = list(getattr(feature, kind).value)
    return np.array([_text(one) for one in listed] if kind == "bytes_list" else listed, DTYPES[kind])


def _text(value: bytes) -> Any:
    """Return bytes as text if they are valid text; others (an image, say) stay bytes."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _block(examples: Sequence[dict[str, Array]], start: int) -> Block:
    names = sorted({name for example in examples for name in example})
    pieces = {name: _piece([example.get(name) for example in examples], start) for name in names}
    return Block(start, pieces, whole=not any(piece.ragged for piece in pieces.values()), count=len(examples))


def _piece(rows: Sequence[Array | None], start: int) -> Piece:
    """Return rows of equal length as an array, else as ragged. A row without the feature has no values."""
    kind = next(row.dtype for row in rows if row is not None)
    if max(0 if row is None else len(row) for row in rows) == 1:
        return _single(rows, kind, start)
    filled = [np.zeros(0, kind) if row is None else row for row in rows]
    lengths = np.array([len(row) for row in filled])
    flat = np.concatenate(filled).astype(kind)
    if lengths.min() != lengths.max() or not lengths.max():
        return ragged_piece(flat, lengths, start, dtype_name(kind))
    return Piece(flat if lengths[0] == 1 else flat.reshape(len(rows), -1), None, start)


def _single(rows: Sequence[Array | None], kind: np.dtype[Any], start: int) -> Piece:
    """Return a column of at most one value in each row, with missing ones."""
    whole = all(row is not None and len(row) for row in rows)
    hole: Any = None if kind.kind == "O" else np.nan
    listed = [row[0] if row is not None and len(row) else hole for row in rows]
    store = np.float64 if not whole and kind == np.int64 else kind
    return Piece(np.array(listed, store), None, start, dtype_name(kind))


def open_file(path: Path, schema: Schema | None = None) -> TFRecordSource:
    return TFRecordSource(path)
