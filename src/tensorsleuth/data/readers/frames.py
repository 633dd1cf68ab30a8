"""Reads pandas frames, a range of rows at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.data.block import Block, Column, Piece, SourceBase, dtype_name
from tensorsleuth.data.schema import Schema

ROWS_PER_BLOCK = 16_384


class FrameSource(SourceBase):
    """A frame in memory."""

    def __init__(self, frame: Any) -> None:
        columns = tuple(Column(str(name), column_dtype(frame[name].dtype), (len(frame),)) for name in frame.columns)
        super().__init__("the frame", columns, len(frame))
        self._frame = frame

    def blocks(self) -> Iterator[Block]:
        for start in range(0, max(1, len(self._frame)), ROWS_PER_BLOCK):
            yield frame_block(self._frame.iloc[start : start + ROWS_PER_BLOCK], start, len(self._frame))


def frame_block(frame: Any, start: int, rows: int | None = None, typed: bool = True) -> Block:
    """Return the rows of a frame as a block."""
    shape = None if rows is None else (rows,)
    pieces = {
        str(name): Piece(column_values(frame[name]), shape, start, column_dtype(frame[name].dtype), typed=typed)
        for name in frame.columns
    }
    return Block(start, pieces)


def column_values(series: Any) -> Array:
    """Return a column as an array. Missing values become NaN in numbers, None in text."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiubcmM":
        return np.asarray(series.to_numpy())
    kind = getattr(series.dtype, "kind", "O")
    if kind in "fiu":
        holes = bool(series.isna().any())
        return np.asarray(series.to_numpy(dtype="float64" if holes else series.dtype.numpy_dtype, na_value=np.nan))
    if kind == "M":
        return np.asarray(
            series.dt.tz_convert(None).to_numpy() if getattr(series.dtype, "tz", None) else series.to_numpy()
        )
    array = np.empty(len(series), object)
    array[:] = [None if missing else value for value, missing in zip(series.tolist(), series.isna().tolist())]
    return array


def column_dtype(dtype: Any) -> str:
    """Return the name of a column's type, as in a schema."""
    if isinstance(dtype, np.dtype):
        return dtype_name(dtype)
    kind, plain = getattr(dtype, "kind", "O"), getattr(dtype, "numpy_dtype", None)
    if kind in "fiub" and plain is not None:
        return dtype_name(plain)
    return "datetime64" if kind == "M" else "string"


def takes(data: Any) -> bool:
    pandas = sys.modules.get("pandas")  # no frame exists before pandas is imported
    return pandas is not None and isinstance(data, pandas.DataFrame)


def open_data(data: Any, schema: Schema | None = None) -> FrameSource:
    return FrameSource(data)
