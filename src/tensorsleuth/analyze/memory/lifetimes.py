"""The lifetimes of buffers, from the first record of a tensor there until nobody holds it any more."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.buffer_rows import (
    EAGER,
    FREED,
    GRAPH,
    BufferRow,
    RowRange,
    iterate_rows,
    ordered_row_numbers,
)
from tensorsleuth.analyze.memory.last_use import LastUses
from tensorsleuth.analyze.memory.op_times import ComputeTimes, release_times, start_times
from tensorsleuth.core.layout.rows import NO_UID, CallKind
from tensorsleuth.trace.process.process import TensorInfo
from tensorsleuth.trace.query.process_index import ProcessIndex

FOREVER = np.iinfo(np.int64).max
MAX_TENSOR_BYTES = 1 << 48  # in bytes; a damaged row may contain anything


@dataclass(slots=True)
class BufferLifetime:
    """A buffer, for as long as it held one value or values that share it."""

    address: int
    bytes: int
    born: int  # nanoseconds, as in rows
    row: int  # the first row, in `process.buffers`
    needed_until: int = 0  # the time of its last use in the function that computed it
    variable: int | None = None  # uid of the handle of the variable whose value it is or was
    preexisting: bool = False  # it existed when recording began
    released: int = FOREVER  # the time at which its last holder released it
    holders: set[int] = field(default_factory=set)  # uids of eager tensors and of variable handles

    @property
    def died(self) -> int:
        return (
            self.needed_until
            if self.released == FOREVER and not self.holders
            else max(self.released, self.needed_until)
        )

    def is_held(self, time: int) -> bool:
        return bool(self.holders) or self.needed_until > time


class BufferLifetimes:
    """Reads the rows of one process in order of time."""

    def __init__(self, process_index: ProcessIndex, row_range: RowRange | None = None) -> None:
        self.process_index = process_index
        self._process = process_index.process
        self._rows = process_index.process.buffers
        self.row_range = row_range or RowRange(0, len(self._rows), len(self._rows))
        self._catalogue = process_index.process.catalogue
        self._described: dict[int, TensorInfo | None] = {}
        self._here: dict[int, BufferLifetime] = {}  # by address
        self._addresses: list[int] = []  # the same addresses, sorted
        self._of_uid: dict[int, BufferLifetime] = {}
        self._of_variable: dict[int, BufferLifetime] = {}
        self._made: set[int] = set()  # handles that were made while recording
        self.all: list[BufferLifetime] = []
        self.last_uses = LastUses(process_index)
        self._lost = bool(process_index.process.lost_buffers) or not self.row_range.whole
        self._walk()

    @cached_property
    def times(self) -> ComputeTimes:
        return ComputeTimes(self.process_index)

    def _walk(self) -> None:
        rows, order = self._rows, ordered_row_numbers(self._rows, self.row_range)
        graph = order[rows["kind"][order] == GRAPH]
        until, begun = np.zeros(len(rows), np.int64), rows["time"].astype(np.int64)
        if len(graph):
            until[graph] = release_times(rows[graph], self.last_uses, self.times)
            begun[graph] = start_times(rows[graph], self.last_uses, self.times)
        self._begun = begun
        writes = self._assignments()
        for row in iterate_rows(rows, order):
            while writes and writes[-1][0] <= row.time:
                self._assign(*writes.pop())
            self._add_row(row, int(until[row.number]))
        for write in reversed(writes if self.row_range.end == self.row_range.total else []):
            self._assign(*write)

    def _assignments(self) -> list[tuple[int, int, int]]:
        """Return time, handle and value of each eager assignment, latest first."""
        ops = [op.id for op in self._catalogue.eager.values() if op.type == "AssignVariableOp"]
        calls = self._process.calls
        rows = calls[(calls["kind"] == CallKind.OP) & np.isin(calls["op"], ops) & (calls["inputs_count"] >= 2)]
        inputs = rows["inputs"]
        both = zip(rows["time"].tolist(), inputs[:, 0].tolist(), inputs[:, 1].tolist(), strict=True)
        return sorted(both, reverse=True)

    # ---- one row

    def _add_row(self, row: BufferRow, until: int) -> None:
        if row.kind == FREED:
            self._free(row.uid, row.time)
        elif not row.bytes:
            self._made.add(row.uid)
        elif row.bytes <= MAX_TENSOR_BYTES and not row.steady:
            self._use(row, until)

    def _use(self, row: BufferRow, until: int) -> None:
        tensor = self._tensor(row.tensor)
        variable = self._read(row, tensor)
        life = self._life_at(row, variable is not None or _is_result(tensor))
        is_new = life is None
        life = life or self._begin(row)
        if row.kind == EAGER:
            life.holders.add(row.uid)
            self._of_uid[row.uid] = life
        if until > life.needed_until and not life.holders and life.address == row.address and life.bytes == row.bytes:
            life.row = row.number  # an op overwrote its input: the new value is needed for longer
        life.needed_until = max(life.needed_until, until)
        life.released = FOREVER
        if variable is not None:
            known = self._lost or variable in self._made
            life.preexisting = life.preexisting or (is_new and not known)
            self._hold(variable, life, row.time)
        for argument in self.last_uses.last_use(row.tensor).assigned if row.kind == GRAPH else ():
            handle = self._argument(row, argument)
            if handle is not None:
                self._hold(handle, life, row.time)

    def _life_at(self, row: BufferRow, same: bool) -> BufferLifetime | None:
        """Return the lifetime that contains a tensor which is still held, or with `same` any at the address."""
        address = row.address
        at = bisect_right(self._addresses, address) - 1
        life = self._here[self._addresses[at]] if at >= 0 else None
        if life is None or address >= life.address + life.bytes:
            return None
        if same and life.address == address and life.bytes == row.bytes:
            return life
        return life if life.is_held(row.time) and address + row.bytes <= life.address + life.bytes else None

    def _begin(self, row: BufferRow) -> BufferLifetime:
        """Begin a new lifetime: what the memory held before is gone."""
        buffer_lifetime = BufferLifetime(row.address, row.bytes, int(self._begun[row.number]), row.number)
        for address in self._overlapping(buffer_lifetime):
            gone = self._here.pop(address)
            self._end(gone, row.time)
            buffer_lifetime.born = max(buffer_lifetime.born, min(gone.died, row.time))
            del self._addresses[bisect_left(self._addresses, address)]
        self._here[buffer_lifetime.address] = buffer_lifetime
        insort(self._addresses, buffer_lifetime.address)
        self.all.append(buffer_lifetime)
        return buffer_lifetime

    def _overlapping(self, buffer_lifetime: BufferLifetime) -> list[int]:
        at = bisect_left(self._addresses, buffer_lifetime.address)
        before = self._here[self._addresses[at - 1]] if at > 0 else None
        at -= before is not None and before.address + before.bytes > buffer_lifetime.address
        to = bisect_left(self._addresses, buffer_lifetime.address + buffer_lifetime.bytes)
        return self._addresses[at:to]

    def _end(self, buffer_lifetime: BufferLifetime, time: int) -> None:
        """End a lifetime whose memory now holds another tensor, so that nobody can hold it any more."""
        buffer_lifetime.holders.clear()
        buffer_lifetime.needed_until = min(buffer_lifetime.needed_until, time)
        buffer_lifetime.released = (
            min(buffer_lifetime.released, time)
            if buffer_lifetime.released != FOREVER
            else time
            if buffer_lifetime.needed_until == 0
            else buffer_lifetime.needed_until
        )

    # ---- holders

    def _free(self, uid: int, time: int) -> None:
        life = self._of_uid.pop(uid, None)
        if life is not None:
            self._let_go(life, uid, time)
        value = self._of_variable.pop(uid, None)
        if value is not None:
            self._let_go(value, uid, time)

    def _let_go(self, buffer_lifetime: BufferLifetime, holder: int, time: int) -> None:
        if holder in buffer_lifetime.holders:
            buffer_lifetime.holders.discard(holder)
            if not buffer_lifetime.holders:
                buffer_lifetime.released = time

    def _assign(self, time: int, handle: int, value: int) -> None:
        life = self._of_uid.get(value) if value != NO_UID else None
        if life is not None:
            self._hold(handle, life, time)

    def _hold(self, handle: int, buffer_lifetime: BufferLifetime, time: int) -> None:
        """Record that a variable has its value here, and release its earlier value."""
        had = self._of_variable.get(handle)
        if had is not buffer_lifetime:
            if had is not None:
                self._let_go(had, handle, time)
            self._of_variable[handle] = buffer_lifetime
        buffer_lifetime.variable = handle
        buffer_lifetime.released = FOREVER
        buffer_lifetime.holders.add(handle)

    # ---- the subject of a row

    def _tensor(self, number: int) -> TensorInfo | None:
        if number not in self._described:
            self._described[number] = self._process.tensor(number)
        return self._described[number]

    def _read(self, row: BufferRow, tensor_info: TensorInfo | None) -> int | None:
        """Return the handle of the variable whose value a row shows."""
        if tensor_info is None or tensor_info.type != "ReadVariableOp":
            return None
        if tensor_info.eager is not None:
            inputs = self.process_index.call_graphs.calls.inputs(row.step)
            return inputs[0] if inputs else None
        if tensor_info.instance is None or tensor_info.function is None or tensor_info.node is None:
            return None
        slots = self.process_index.call_graphs.flow.input_sources(
            tensor_info.instance, tensor_info.function.number(tensor_info.node)
        )
        arguments = [source.argument for source in slots[0] if source.argument >= 0] if slots else []
        return self._argument(row, arguments[0]) if arguments else None

    def _argument(self, row: BufferRow, number: int) -> int | None:
        call = self._process.call_of_tf_step.get(row.step)
        inputs = self.process_index.call_graphs.calls.inputs(call) if call is not None else []
        return inputs[number] if number < len(inputs) and inputs[number] != NO_UID else None


def _is_result(tensor_info: TensorInfo | None) -> bool:
    """Return whether a tensor is the result of a function, which has a row inside the function."""
    return tensor_info is not None and tensor_info.eager is not None and tensor_info.eager.instance >= 0
