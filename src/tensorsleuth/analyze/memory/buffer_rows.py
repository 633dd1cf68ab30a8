"""Rows of `process.buffers` as plain numbers, in order of time: fields of a NumPy row take ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import BufferKind, EventFlag
from tensorsleuth.trace.dataflow.observed_tensor import uids_of
from tensorsleuth.trace.process.process import ProcessTrace

ROWS_PER_BLOCK = 10_000  # converted to plain numbers at a time
EAGER, GRAPH, FREED = map(int, BufferKind)  # members of an enum are slow to compare
STEADY = int(EventFlag.STEADY)


class BufferRow(NamedTuple):
    """A tensor at a memory address, or the release of one."""

    number: int  # number of the row
    time: int
    kind: int
    tensor: int
    step: int
    address: int
    bytes: int
    steady: bool
    uid: int


class RowRange(NamedTuple):
    """The rows to read, in order of time."""

    begin: int
    end: int
    total: int  # number of all rows

    @property
    def whole(self) -> bool:
        return self.end - self.begin == self.total


def rows_around(process: ProcessTrace, time: int, most: int) -> RowRange:
    """Return the rows before a time and some after it. Similar times give the same range."""
    of, step = len(process.buffers), max(most // 4, 1)
    if of <= most:
        return RowRange(0, of, of)
    at = int(np.count_nonzero(process.buffers["time"] <= np.uint64(max(time, 0))))
    begin = min(max((at // step - 2) * step, 0), of - most)
    return RowRange(begin, begin + most, of)


def newest_rows(process: ProcessTrace, most: int) -> RowRange:
    """Return the newest rows."""
    of = len(process.buffers)
    return RowRange(max(of - most, 0), of, of)


def ordered_row_numbers(rows: Array, row_range: RowRange) -> Array:
    """Return the row numbers, oldest first, after those of eager tensors still held when the range begins."""
    order = np.argsort(rows["time"], kind="stable")
    earlier = order[: row_range.begin]
    return np.concatenate([_still_alive(rows, earlier), order[row_range.begin : row_range.end]])


def _still_alive(rows: Array, earlier: Array) -> Array:
    kinds = rows["kind"][earlier]
    born, freed = earlier[kinds == EAGER], earlier[kinds == FREED]
    return np.asarray(born[~np.isin(uids_of(rows[born]), uids_of(rows[freed]))])


def iterate_rows(rows: Array, numbers: Array) -> Iterator[BufferRow]:
    for begin in range(0, len(numbers), ROWS_PER_BLOCK):
        some = numbers[begin : begin + ROWS_PER_BLOCK]
        block = rows[some]
        named = (block[name].tolist() for name in ("time", "kind", "tensor", "step", "address", "bytes"))
        steady = (block["flags"] & STEADY != 0).tolist()
        yield from map(BufferRow, some.tolist(), *named, steady, uids_of(block).tolist())
