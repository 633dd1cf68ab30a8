"""Two runs side by side: the first tensor at which they part."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.answers.compare.differences import differences
from tensorsleuth.ui.web.answers.compare.pairs import Pairs
from tensorsleuth.ui.web.answers.compare.wording import why
from tensorsleuth.ui.web.answers.rows import tensor_row
from tensorsleuth.ui.web.run.errors import BadQuestion, NoSuchThing
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

MOST_DIFFERING = 200
MOST_ALONE = 100


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """A Comparison of types.ts."""
    other = _other(opened, asked.get("with", ""))
    pairs = Pairs(opened.table, other.table)
    parted = _in_order(opened, pairs, differences(opened.table, other.table, pairs.here, pairs.there))
    told = [_told(opened, other, pairs, at) for at in _first_of_each(opened, pairs, parted)]
    alone_here, alone_there = pairs.alone
    return {
        "run": opened.name,
        "with": other.name,
        "same": not len(parted) and not alone_here and not alone_there and pairs.as_often,
        "compared": len(pairs.here),
        "parted": {name: told[0][name] for name in ("here", "there", "why")} if told else None,
        "differing": told,
        "onlyHere": alone_here[:MOST_ALONE],
        "onlyThere": alone_there[:MOST_ALONE],
    }


def _other(opened: OpenRun, name: str) -> OpenRun:
    """The run of that name beside this one; it stays open for the next question."""
    if not name:
        raise BadQuestion("With which run?", "Say with= and the name of a run.")
    path = next((run for run in run_folder.list_runs(opened.path.parent) if run.name == name), None)
    if path is None:
        raise NoSuchThing(f"There is no run {name[:80]!r} beside {opened.name}.", "See the list of runs.")
    return opened.beside(path)


def _in_order(opened: OpenRun, pairs: Pairs, parted: Array) -> Array:
    """Numbers of pairs that differ, in the order in which this run computed them."""
    places = pairs.here[parted]
    by = opened.table.time[places] if len(opened.table.asked) > 1 else places
    return np.asarray(parted[np.argsort(by, kind="stable")])


def _first_of_each(opened: OpenRun, pairs: Pairs, parted: Array) -> list[int]:
    """Return the first pair of each op that differs."""
    first = np.unique(opened.table.op[pairs.here[parted]], return_index=True)[1]
    return [int(at) for at in parted[np.sort(first)[:MOST_DIFFERING]]]


def _told(opened: OpenRun, other: OpenRun, pairs: Pairs, at: int) -> dict[str, Any]:
    here, there = tensor_row(opened, int(pairs.here[at])), tensor_row(other, int(pairs.there[at]))
    return {"name": here["name"], "here": here, "there": there, "why": why(here, there)}
