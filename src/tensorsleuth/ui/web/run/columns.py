"""Columns of tensors, as queries have them: -1, or NaN, if a value was not recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.query.columns import COLUMNS
from tensorsleuth.ui.web.run.tensor_table import TensorTable


class _LazyRows:
    """Stands in for rows of which only some fields are read: a million whole rows would be a copy of 104 MB."""

    def __init__(self, events: Array, numbers: Array) -> None:
        self._events = events
        self._numbers: Any = slice(None) if len(numbers) == len(events) and _counts_up(numbers) else numbers

    def __getitem__(self, name: str) -> Array:
        return np.ascontiguousarray(self._events[name][self._numbers])


def column_values(tensor_table: TensorTable, name: str, places: Array) -> Array:
    """Return one of `COLUMNS` for some tensors."""
    if len(tensor_table.process_indexes) == 1:
        return _part(tensor_table, 0, name, places)
    parts = [
        (at, (places >= tensor_table.starts[at]) & (places < tensor_table.starts[at + 1]))
        for at in range(len(tensor_table.process_indexes))
    ]
    made = [(here, _part(tensor_table, at, name, places[here] - tensor_table.starts[at])) for at, here in parts]
    whole = np.empty(len(places), made[0][1].dtype if made else np.float64)
    for here, part in made:
        whole[here] = part
    return whole


def _part(tensor_table: TensorTable, process: int, name: str, numbers: Array) -> Array:
    traced = tensor_table.process_indexes[process].process
    fields: Any = _LazyRows(traced.events, numbers)
    return COLUMNS[name](traced, fields)


def _counts_up(numbers: Array) -> bool:
    """Return whether these are 0, 1, 2, …, as in a list of everything."""
    return len(numbers) == 0 or (numbers[0] == 0 and bool((np.diff(numbers) == 1).all()))
