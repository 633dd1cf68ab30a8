"""Rows of `process.buffers` as plain numbers, in the order of time: a field of a NumPy row takes ten times as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import BufferKind, EventFlag
from tensorsleuth.trace.dataflow.observed import uids_of
from tensorsleuth.trace.process.process import ProcessTrace

BLOCK = 10_000  # rows that are plain numbers at a time
EAGER, GRAPH, FREED = map(int, BufferKind)  # members of an enum are slow to compare
STEADY = int(EventFlag.STEADY)


class Seen(NamedTuple):
    """A tensor at a place in memory, or that it was freed there."""

    number: int  # of the row
    time: int
    kind: int
    tensor: int
    step: int
    address: int
    bytes: int
    steady: bool
    uid: int


class Part(NamedTuple):
    """The rows that are looked at, in the order of time."""

    begin: int
    end: int
    of: int  # how many there are

    @property
    def whole(self) -> bool:
        return self.end - self.begin == self.of


def part_around(process: ProcessTrace, time: int, most: int) -> Part:
    """The rows before a time, and some after: near times have the same part."""
    of, step = len(process.buffers), max(most // 4, 1)
    if of <= most:
        return Part(0, of, of)
    at = int(np.count_nonzero(process.buffers["time"] <= np.uint64(max(time, 0))))
    begin = min(max((at // step - 2) * step, 0), of - most)
    return Part(begin, begin + most, of)


def part_at_the_end(process: ProcessTrace, most: int) -> Part:
    """The newest rows."""
    of = len(process.buffers)
    return Part(max(of - most, 0), of, of)


def in_order(rows: Array, part: Part) -> Array:
    """Their numbers, oldest first; before them those of eager tensors that were still held when the part begins."""
    order = np.argsort(rows["time"], kind="stable")
    earlier = order[: part.begin]
    return np.concatenate([_held(rows, earlier), order[part.begin : part.end]])


def _held(rows: Array, earlier: Array) -> Array:
    kinds = rows["kind"][earlier]
    born, freed = earlier[kinds == EAGER], earlier[kinds == FREED]
    return np.asarray(born[~np.isin(uids_of(rows[born]), uids_of(rows[freed]))])


def seen(rows: Array, numbers: Array) -> Iterator[Seen]:
    for begin in range(0, len(numbers), BLOCK):
        some = numbers[begin : begin + BLOCK]
        block = rows[some]
        named = (block[name].tolist() for name in ("time", "kind", "tensor", "step", "address", "bytes"))
        steady = (block["flags"] & STEADY != 0).tolist()
        yield from map(Seen, some.tolist(), *named, steady, uids_of(block).tolist())
