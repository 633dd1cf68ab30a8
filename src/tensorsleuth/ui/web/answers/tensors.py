"""The list of tensors, filtered, sorted and in pages, and the position of a tensor in it."""

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
    """Return a page of TensorRow (web/src/api/types.ts)."""
    places = listed_places(opened, asked)
    begin, end = parameters.page(asked, len(places))
    return {"begin": begin, "end": end, "total": len(places), "items": tensor_rows(opened, places[begin:end])}


def answer_at(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the position of a tensor in the list with these filters, -1 if it is not in it."""
    here = np.flatnonzero(listed_places(opened, asked) == opened.table.place(asked.get("id", "")))
    return {"index": int(here[0]) if len(here) else -1}


def listed_places(opened: OpenRun, asked: Parameters) -> Array:
    """Return the requested tensors in the requested order; the last list is kept."""
    wanted = {name: value for name, value in asked.items() if name not in ("begin", "end", "id") and value}
    key = tuple(sorted(wanted.items()))
    return opened.cache("list", key, lambda: sort_places(opened, select(opened, wanted), wanted))
