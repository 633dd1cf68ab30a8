"""Columns of tensors as questions of a trace have them: -1, or NaN, where something was not recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.query.columns import COLUMNS
from tensorsleuth.ui.web.run.table import Table


class _Fields:
    """Stands for rows of which only some fields are read: a million whole rows would be a copy of 104 MB."""

    def __init__(self, events: Array, numbers: Array) -> None:
        self._events = events
        self._numbers: Any = slice(None) if len(numbers) == len(events) and _counts_up(numbers) else numbers

    def __getitem__(self, name: str) -> Array:
        return np.ascontiguousarray(self._events[name][self._numbers])


def told(table: Table, name: str, places: Array) -> Array:
    """One of `COLUMNS`, of some places."""
    if len(table.asked) == 1:
        return _part(table, 0, name, places)
    parts = [(at, (places >= table.starts[at]) & (places < table.starts[at + 1])) for at in range(len(table.asked))]
    made = [(here, _part(table, at, name, places[here] - table.starts[at])) for at, here in parts]
    whole = np.empty(len(places), made[0][1].dtype if made else np.float64)
    for here, part in made:
        whole[here] = part
    return whole


def _part(table: Table, process: int, name: str, numbers: Array) -> Array:
    traced = table.asked[process].process
    fields: Any = _Fields(traced.events, numbers)
    return COLUMNS[name](traced, fields)


def _counts_up(numbers: Array) -> bool:
    """Return whether these are 0, 1, 2, …, as in a list of everything."""
    return len(numbers) == 0 or (numbers[0] == 0 and bool((np.diff(numbers) == 1).all()))
