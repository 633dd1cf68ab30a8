"""What a program told of while it ran, such as calls that raised: which tensor to show for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from tensorsleuth.model.catalog import Catalogue
from tensorsleuth.page.opened import OpenRun
from tensorsleuth.trace.asked import Asked
from tensorsleuth.trace.ring_reader import Array

MOST = 200  # records of a process that are looked at

R = TypeVar("R")
Records: TypeAlias = Callable[[Catalogue], Sequence[R]]
EventOf: TypeAlias = Callable[[Asked, R], "int | None"]


def places_for(opened: OpenRun, records: Records[R], event_of: EventOf[R]) -> Array:
    """For each record of the catalogues the place of the event that stands for it, earliest first."""
    table = opened.table
    found = {
        int(start) + event
        for start, asked in zip(table.starts, table.asked)
        for event in _events(asked, records, event_of)
    }
    return np.array(sorted(found, key=lambda place: float(table.time[place])), np.int64)


def _events(asked: Asked, records: Records[R], event_of: EventOf[R]) -> Iterator[int]:
    for record in records(asked.process.catalogue)[:MOST]:
        event = event_of(asked, record)
        if event is not None:
            yield event
