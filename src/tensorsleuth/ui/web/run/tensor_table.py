"""All tensors of a run as a few small columns, which lists, jumps and the timeline need repeatedly.

A million rows of a trace are 104 MB. Columns are copied from them once, block by block, and the file's pages freed;
the rows themselves are read again only for tensors on the screen.
"""

from __future__ import annotations

import mmap
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.trace.query.query import process_indexes
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.lanes import Lanes

BLOCK_ROWS = 1 << 14  # read at a time: they stay in the processor's cache while their columns are copied
_LARGEST_STEP = (1 << 31) - 1
UNKNOWN_OP = Op("?", "?", None, None, None, None, 0)


class TensorTable:
    """One row for each tensor, process by process. The number of a row is called its place."""

    def __init__(self, trace: Trace) -> None:
        self.process_indexes: list[ProcessIndex] = process_indexes(trace)
        sizes = [len(one.process.events) for one in self.process_indexes]
        self.starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.ops: list[Op] = [op for one in self.process_indexes for op in one.op_index.ops]
        self.lanes = Lanes(trace)
        count = int(self.starts[-1])
        self.op = np.empty(count, np.int32)  # number in `ops`, -1 if unknown
        self.step = np.empty(count, np.int32)  # -1 outside of training steps
        self.time = np.empty(count, np.float64)  # seconds since the run began
        self.lane = np.empty(count, np.int16)  # number in `lanes`
        self.flags = np.empty(count, np.uint16)  # EventFlag
        self.kind = np.empty(count, np.uint8)  # EventKind
        self._fill()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def _fill(self) -> None:
        first_op = 0
        for asked, start in zip(self.process_indexes, self.starts.tolist()):
            events = asked.process.events
            for begin in range(0, len(events), BLOCK_ROWS):
                rows = events[begin : begin + BLOCK_ROWS]
                self._copy(slice(start + begin, start + begin + len(rows)), rows, asked, first_op)
            first_op += len(asked.op_index.ops)
            release_pages(events)

    def _copy(self, to: slice, rows: Array, process_index: ProcessIndex, first_op: int) -> None:
        places = process_index.op_index.op_numbers(rows["tensor"])
        self.op[to] = np.where(places >= 0, places + first_op, -1)
        self.step[to] = np.clip(process_index.steps_of(process_index.calls_of(rows)), -1, _LARGEST_STEP)
        self.time[to] = self.lanes.seconds(process_index.number, rows["time"])
        self.lane[to] = self.lanes.of_rows(process_index.number, rows)
        self.flags[to] = rows["flags"]
        self.kind[to] = rows["kind"]

    # ---- lookup

    def locate(self, place: int) -> tuple[int, int]:
        """Return the process of a place, and the number of its event in the process."""
        process = int(np.searchsorted(self.starts, place, "right")) - 1
        return process, place - int(self.starts[process])

    def process_of(self, places: Array) -> Array:
        """Return the process of each of many places."""
        return np.searchsorted(self.starts[1:], places, "right")

    def id(self, place: int) -> str:
        return ids.make_id(*self.locate(place))

    def place(self, id: str) -> int:
        """Return the place of the tensor that a request names."""
        process, number = ids.parse_id(id, "a tensor")
        if process >= len(self.process_indexes) or number >= self.starts[process + 1] - self.starts[process]:
            raise NotFound(f"The run has no tensor {id}.", "It may have been overwritten. Take one from a list.")
        return int(self.starts[process]) + number

    def row(self, place: int) -> Any:
        process, number = self.locate(place)
        return self.process_indexes[process].process.events[number]

    def op_of(self, place: int) -> Op:
        number = int(self.op[place])
        return self.ops[number] if number >= 0 else UNKNOWN_OP

    @cached_property
    def _op_numbers(self) -> dict[str, int]:
        return {ids.op_id(op): number for number, op in enumerate(self.ops)}

    def number_of_op(self, id: str) -> int:
        """Return the number in `ops` of the op that a request names."""
        number = self._op_numbers.get(id)
        if number is None:
            raise NotFound(f"The run has no op {id[:40]!r}.", "Take one from `scalars`, or from the graph.")
        return number

    # ---- selections

    @cached_property
    def first_places(self) -> Array:
        """Return the place of each op's first tensor, -1 if it has none."""
        firsts = np.full(len(self.ops) + 1, -1, np.int32)
        firsts[self.op[::-1]] = np.arange(len(self) - 1, -1, -1, dtype=np.int32)
        return firsts[:-1]

    @cached_property
    def order(self) -> Array:
        """All places, oldest first, without tensors that a replay of the same call replaced."""
        shown = np.flatnonzero(self.kind).astype(np.int32)
        if len(self.process_indexes) < 2:
            return shown
        return np.asarray(shown[np.argsort(self.time[shown], kind="stable")])

    @cached_property
    def bad(self) -> Array:
        """The places of bad tensors, oldest first."""
        return np.asarray(self.order[(self.flags[self.order] & EventFlag.BAD) != 0])

    @cached_property
    def eager(self) -> Array:
        """Return for each place whether Python called the op itself."""
        return np.asarray(self.kind == EventKind.EAGER)

    def column(self, name: str, places: Array) -> Array:
        """Return a column of the rows themselves, for some places."""
        if len(self.process_indexes) == 1:
            return np.asarray(self.process_indexes[0].process.events[name][places])
        whole = np.empty(
            len(places), self.process_indexes[0].process.events.dtype[name] if self.process_indexes else np.int64
        )
        for at, asked in enumerate(self.process_indexes):
            here = (places >= self.starts[at]) & (places < self.starts[at + 1])
            whole[here] = asked.process.events[name][places[here] - self.starts[at]]
        return whole


def release_pages(rows: Array) -> None:
    """Free the mapped pages of a file. They are read again when needed."""
    base: Any = rows
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None:
        base.madvise(mmap.MADV_DONTNEED)
