"""Tensors selected from a trace: many at once as columns, or one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EVENT, EventFlag
from tensorsleuth.trace.query.columns import COLUMNS, HealthColumns, UnknownColumn
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.trace.query.tensor_event import TensorEvent

_UNKNOWN_OP = Op("?", "?", None, None, None, None, 0)


class ProcessSelection:
    """The selected events of one process, by their numbers."""

    def __init__(self, process_index: ProcessIndex, numbers: Array) -> None:
        self.index = process_index
        self.numbers = numbers

    @cached_property
    def rows(self) -> Array:
        events = self.index.process.events
        return events if len(self.numbers) == len(events) else events[self.numbers]

    def column(self, name: str) -> Array:
        if name == "process":
            return np.full(len(self.numbers), self.index.number)
        if name in _TIME_COLUMNS:
            whole: Array = _TIME_COLUMNS[name](self.index)
            return whole[self.numbers]
        return COLUMNS[name](self.index.process, self.rows)

    def op_column(self, tell: Callable[[Op], Any]) -> Array:
        """Return a property of each event's op."""
        words = np.empty(len(self.index.op_index.ops) + 1, object)
        words[:] = [*map(tell, self.index.op_index.ops), tell(_UNKNOWN_OP)]  # the last entry answers for op number -1
        return words[self.index.op_numbers[self.numbers]]

    def event(self, at: int) -> TensorEvent:
        number = int(self.numbers[at])
        place = int(self.index.op_numbers[number])
        op = self.index.op_index.ops[place] if place >= 0 else _UNKNOWN_OP
        row = self.index.process.events[number]
        return TensorEvent(
            self.index, op, int(row["tensor"]) - op.first_tensor if place >= 0 else 0, row, number=number
        )


# Columns that come from the calls of events.
_TIME_COLUMNS: dict[str, Callable[[ProcessIndex], Array]] = {
    "step": lambda asked: asked.steps,
    "epoch": lambda asked: asked.epochs,
    "batch": lambda asked: asked.batches,
}

_OP_COLUMNS: dict[str, Callable[[Op], Any]] = {
    "name": lambda op: op.name,
    "op": lambda op: op.type,
    "layer": lambda op: op.layer,
    "file": lambda op: op.file,
    "line": lambda op: op.line,
    "differentiates": lambda op: op.differentiates,
}
_OP_COLUMNS_IN_DICT = ("name", "op", "layer", "file", "line")


class Tensors(Sequence[TensorEvent]):
    """Selected tensors, oldest first, with `len`, indices, slices and iteration. `health` has their columns."""

    def __init__(self, process_selections: list[ProcessSelection]) -> None:
        self._parts = process_selections

    def __len__(self) -> int:
        return sum(len(part.numbers) for part in self._parts)

    def __repr__(self) -> str:
        return f"<{len(self):,} tensors>"

    def __iter__(self) -> Iterator[TensorEvent]:
        return (part.event(at) for part in self._parts for at in range(len(part.numbers)))

    @overload
    def __getitem__(self, at: int) -> TensorEvent: ...
    @overload
    def __getitem__(self, at: slice) -> Tensors: ...
    def __getitem__(self, at: int | slice) -> TensorEvent | Tensors:
        places = range(len(self))[at]  # raises IndexError as a list does
        if isinstance(places, int):
            return next(part.event(int(inside[0])) for part, inside in self._split(np.array([places])) if len(inside))
        parts = [
            ProcessSelection(part.index, part.numbers[inside])
            for part, inside in self._split(np.array(places, np.int64))
        ]
        return Tensors(parts if places.step > 0 else parts[::-1])

    def _split(self, places: Array) -> Iterator[tuple[ProcessSelection, Array]]:
        """Yield positions in the selection as positions in each of its parts."""
        begin = 0
        for part in self._parts:
            end = begin + len(part.numbers)
            yield part, places[(places >= begin) & (places < end)] - begin
            begin = end

    @cached_property
    def health(self) -> HealthColumns:
        """NumPy columns: process, step, epoch, batch, iteration, counts, range, mean, std, dtype, elements, bad, …"""
        names = ("process", *_TIME_COLUMNS, *COLUMNS)
        return HealthColumns({name: self._maker(name) for name in names}, len(self))

    def _maker(self, name: str) -> Callable[[], Array]:
        return lambda: _joined([part.column(name) for part in self._parts])

    def to_dict(self) -> dict[str, Array]:
        """Return every column, and name, op, layer, file, line, for `pandas.DataFrame(tensors.to_dict())`."""
        return {**{name: self.words(name) for name in _OP_COLUMNS_IN_DICT}, **self.health}

    def words(self, tell: str | Callable[[Op], Any]) -> Array:
        """Return a field of each tensor's op (name, op, layer, file, line, differentiates) or any function of it."""
        if isinstance(tell, str) and tell not in _OP_COLUMNS:
            raise UnknownColumn(f"there is no {tell!r}. Take one of {', '.join(_OP_COLUMNS)}.")
        told = _OP_COLUMNS[tell] if isinstance(tell, str) else tell
        return _joined([part.op_column(told) for part in self._parts])

    @property
    def rows(self) -> Array:
        """The selected rows of `trace.events`."""
        return np.concatenate([part.rows for part in self._parts]) if self._parts else np.empty(0, EVENT)

    def first_bad(self) -> TensorEvent | None:
        """Return the first tensor that holds a NaN or an infinity, or None if all are healthy."""
        found = [(part.rows["time"][bad[0]], part.event(int(bad[0]))) for part in self._parts if len(bad := _bad(part))]
        return min(found, key=lambda pair: int(pair[0]))[1] if found else None


def _bad(process_selection: ProcessSelection) -> Array:
    return np.flatnonzero(process_selection.rows["flags"] & EventFlag.BAD)


def _joined(columns: list[Array]) -> Array:
    return columns[0] if len(columns) == 1 else np.concatenate(columns) if columns else np.empty(0)
