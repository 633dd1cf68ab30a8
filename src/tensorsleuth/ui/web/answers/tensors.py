"""The list of tensors: filtered, sorted, a page at a time; where one stands in it."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.answers.filters import select
from tensorsleuth.ui.web.answers.rows import tensor_rows
from tensorsleuth.ui.web.answers.sorting import sort_places
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """A page of TensorRow of types.ts."""
    places = listed_places(opened, asked)
    begin, end = parameters.page(asked, len(places))
    return {"begin": begin, "end": end, "total": len(places), "items": tensor_rows(opened, places[begin:end])}


def answer_at(opened: OpenRun, asked: Parameters) -> Answer:
    """The place of a tensor in the list that the same filters make; -1 where it is not in it."""
    here = np.flatnonzero(listed_places(opened, asked) == opened.table.place(asked.get("id", "")))
    return {"index": int(here[0]) if len(here) else -1}


def listed_places(opened: OpenRun, asked: Parameters) -> Array:
    """The places of the tensors that are asked for, in the order in which they are; the last list is kept."""
    wanted = {name: value for name, value in asked.items() if name not in ("begin", "end", "id") and value}
    key = tuple(sorted(wanted.items()))
    return opened.cache("list", key, lambda: sort_places(opened, select(opened, wanted), wanted))
