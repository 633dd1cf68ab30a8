"""The lives of buffers: from when memory is first seen to hold a tensor until nobody holds it any more."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.memory.buffer_rows import EAGER, FREED, GRAPH, Part, Seen, in_order, seen
from tensorsleuth.analyze.memory.last_use import Ends
from tensorsleuth.analyze.memory.op_times import Times, begins_of, ends_of
from tensorsleuth.core.layout.rows import NO_UID, CallKind
from tensorsleuth.trace.process.process import Tensor
from tensorsleuth.trace.query.process_index import Asked

FOREVER = np.iinfo(np.int64).max
MOST = 1 << 48  # bytes; a damaged row may say anything


@dataclass(slots=True)
class Life:
    """A piece of memory, for as long as it held one value or values that share it."""

    address: int
    bytes: int
    born: int  # nanoseconds, as in rows
    row: int  # that it was first seen in, of `process.buffers`
    until: int = 0  # when the function that computed it needed it last
    variable: int | None = None  # uid of the handle of the variable that it is, or was, the value of
    before: bool = False  # it was there when recording began
    ended: int = FOREVER  # when its last holder let go
    holders: set[int] = field(default_factory=set)  # uids of eager tensors, and of handles of variables

    @property
    def died(self) -> int:
        return self.until if self.ended == FOREVER and not self.holders else max(self.ended, self.until)

    def is_held(self, time: int) -> bool:
        return bool(self.holders) or self.until > time


class Lives:
    """Walks through the rows of one process in the order of time."""

    def __init__(self, asked: Asked, part: Part | None = None) -> None:
        self.asked = asked
        self._process = asked.process
        self._rows = asked.process.buffers
        self.part = part or Part(0, len(self._rows), len(self._rows))
        self._catalogue = asked.process.catalogue
        self._described: dict[int, Tensor | None] = {}
        self._here: dict[int, Life] = {}  # by address
        self._addresses: list[int] = []  # the same, sorted
        self._of_uid: dict[int, Life] = {}
        self._of_variable: dict[int, Life] = {}
        self._made: set[int] = set()  # handles that were made while recording
        self.all: list[Life] = []
        self.ends = Ends(asked)
        self._lost = bool(asked.process.lost_buffers) or not self.part.whole
        self._walk()

    @cached_property
    def times(self) -> Times:
        return Times(self.asked)

    def _walk(self) -> None:
        rows, order = self._rows, in_order(self._rows, self.part)
        graph = order[rows["kind"][order] == GRAPH]
        until, begun = np.zeros(len(rows), np.int64), rows["time"].astype(np.int64)
        if len(graph):
            until[graph] = ends_of(rows[graph], self.ends, self.times)
            begun[graph] = begins_of(rows[graph], self.ends, self.times)
        self._begun = begun
        writes = self._assignments()
        for row in seen(rows, order):
            while writes and writes[-1][0] <= row.time:
                self._assign(*writes.pop())
            self._see(row, int(until[row.number]))
        for write in reversed(writes if self.part.end == self.part.of else []):
            self._assign(*write)

    def _assignments(self) -> list[tuple[int, int, int]]:
        """Time, handle and value of each eager assignment, latest first."""
        ops = [op.id for op in self._catalogue.eager.values() if op.type == "AssignVariableOp"]
        calls = self._process.calls
        rows = calls[(calls["kind"] == CallKind.OP) & np.isin(calls["op"], ops) & (calls["inputs_count"] >= 2)]
        inputs = rows["inputs"]
        both = zip(rows["time"].tolist(), inputs[:, 0].tolist(), inputs[:, 1].tolist(), strict=True)
        return sorted(both, reverse=True)

    # ---- one row

    def _see(self, row: Seen, until: int) -> None:
        if row.kind == FREED:
            self._free(row.uid, row.time)
        elif not row.bytes:
            self._made.add(row.uid)
        elif row.bytes <= MOST and not row.steady:
            self._use(row, until)

    def _use(self, row: Seen, until: int) -> None:
        tensor = self._tensor(row.tensor)
        variable = self._read(row, tensor)
        life = self._life_at(row, variable is not None or _is_result(tensor))
        is_new = life is None
        life = life or self._begin(row)
        if row.kind == EAGER:
            life.holders.add(row.uid)
            self._of_uid[row.uid] = life
        if until > life.until and not life.holders and life.address == row.address and life.bytes == row.bytes:
            life.row = row.number  # an op wrote over its input: what is there now is needed for longer
        life.until = max(life.until, until)
        life.ended = FOREVER
        if variable is not None:
            known = self._lost or variable in self._made
            life.before = life.before or (is_new and not known)
            self._hold(variable, life, row.time)
        for argument in self.ends.of(row.tensor).assigned if row.kind == GRAPH else ():
            handle = self._argument(row, argument)
            if handle is not None:
                self._hold(handle, life, row.time)

    def _life_at(self, row: Seen, same: bool) -> Life | None:
        """The life that a tensor lies in: of a tensor that is still held, or `same`, of what is known to be there."""
        address = row.address
        at = bisect_right(self._addresses, address) - 1
        life = self._here[self._addresses[at]] if at >= 0 else None
        if life is None or address >= life.address + life.bytes:
            return None
        if same and life.address == address and life.bytes == row.bytes:
            return life
        return life if life.is_held(row.time) and address + row.bytes <= life.address + life.bytes else None

    def _begin(self, row: Seen) -> Life:
        """Memory that is used anew: what was there is gone."""
        life = Life(row.address, row.bytes, int(self._begun[row.number]), row.number)
        for address in self._overlapping(life):
            gone = self._here.pop(address)
            self._end(gone, row.time)
            life.born = max(life.born, min(gone.died, row.time))
            del self._addresses[bisect_left(self._addresses, address)]
        self._here[life.address] = life
        insort(self._addresses, life.address)
        self.all.append(life)
        return life

    def _overlapping(self, life: Life) -> list[int]:
        at = bisect_left(self._addresses, life.address)
        before = self._here[self._addresses[at - 1]] if at > 0 else None
        at -= before is not None and before.address + before.bytes > life.address
        to = bisect_left(self._addresses, life.address + life.bytes)
        return self._addresses[at:to]

    def _end(self, life: Life, time: int) -> None:
        """Its memory is somebody else's: nobody can hold it still, whatever we believed."""
        life.holders.clear()
        life.until = min(life.until, time)
        life.ended = min(life.ended, time) if life.ended != FOREVER else time if life.until == 0 else life.until

    # ---- who holds it

    def _free(self, uid: int, time: int) -> None:
        life = self._of_uid.pop(uid, None)
        if life is not None:
            self._let_go(life, uid, time)
        value = self._of_variable.pop(uid, None)
        if value is not None:
            self._let_go(value, uid, time)

    def _let_go(self, life: Life, holder: int, time: int) -> None:
        if holder in life.holders:
            life.holders.discard(holder)
            if not life.holders:
                life.ended = time

    def _assign(self, time: int, handle: int, value: int) -> None:
        life = self._of_uid.get(value) if value != NO_UID else None
        if life is not None:
            self._hold(handle, life, time)

    def _hold(self, handle: int, life: Life, time: int) -> None:
        """A variable has its value here; what it had before is let go."""
        had = self._of_variable.get(handle)
        if had is not life:
            if had is not None:
                self._let_go(had, handle, time)
            self._of_variable[handle] = life
        life.variable = handle
        life.ended = FOREVER
        life.holders.add(handle)

    # ---- what a row is about

    def _tensor(self, number: int) -> Tensor | None:
        if number not in self._described:
            self._described[number] = self._process.tensor(number)
        return self._described[number]

    def _read(self, row: Seen, tensor: Tensor | None) -> int | None:
        """The handle of the variable that a row shows the value of."""
        if tensor is None or tensor.type != "ReadVariableOp":
            return None
        if tensor.eager is not None:
            inputs = self.asked.moments.calls.inputs(row.step)
            return inputs[0] if inputs else None
        if tensor.instance is None or tensor.function is None or tensor.node is None:
            return None
        slots = self.asked.moments.flow.slots(tensor.instance, tensor.function.number(tensor.node))
        arguments = [source.argument for source in slots[0] if source.argument >= 0] if slots else []
        return self._argument(row, arguments[0]) if arguments else None

    def _argument(self, row: Seen, number: int) -> int | None:
        call = self._process.call_of_step.get(row.step)
        inputs = self.asked.moments.calls.inputs(call) if call is not None else []
        return inputs[number] if number < len(inputs) and inputs[number] != NO_UID else None


def _is_result(tensor: Tensor | None) -> bool:
    """Does a function give it back: its memory was seen inside."""
    return tensor is not None and tensor.eager is not None and tensor.eager.instance >= 0
