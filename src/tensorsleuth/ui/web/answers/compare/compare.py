"""Two runs side by side: the first tensor that differs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.answers.compare.differences import differences
from tensorsleuth.ui.web.answers.compare.pairs import TensorPairs
from tensorsleuth.ui.web.answers.compare.wording import difference_words
from tensorsleuth.ui.web.answers.rows import tensor_row
from tensorsleuth.ui.web.run.errors import BadRequest, NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

MAX_DIFFERING = 200
MAX_ONLY_IN_ONE = 100


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Comparison (web/src/api/types.ts)."""
    other = _other(opened, asked.get("with", ""))
    tensor_pairs = TensorPairs(opened.table, other.table)
    parted = _in_order(
        opened, tensor_pairs, differences(opened.table, other.table, tensor_pairs.here, tensor_pairs.there)
    )
    told = [_difference_json(opened, other, tensor_pairs, at) for at in _first_of_each(opened, tensor_pairs, parted)]
    alone_here, alone_there = tensor_pairs.only_in_one
    return {
        "run": opened.name,
        "with": other.name,
        "same": not len(parted) and not alone_here and not alone_there and tensor_pairs.is_complete,
        "compared": len(tensor_pairs.here),
        "parted": {name: told[0][name] for name in ("here", "there", "why")} if told else None,
        "differing": told,
        "onlyHere": alone_here[:MAX_ONLY_IN_ONE],
        "onlyThere": alone_there[:MAX_ONLY_IN_ONE],
    }


def _other(opened: OpenRun, name: str) -> OpenRun:
    """Return the run of that name in the same log directory. It stays open for the next question."""
    if not name:
        raise BadRequest("No run to compare with is named.", "Add with= and the name of a run.")
    path = next((run for run in run_folder.list_runs(opened.path.parent) if run.name == name), None)
    if path is None:
        raise NotFound(f"There is no run {name[:80]!r} in the folder of {opened.name}.", "See the list of runs.")
    return opened.open_other(path)


def _in_order(opened: OpenRun, tensor_pairs: TensorPairs, parted: Array) -> Array:
    """Return the numbers of differing pairs, in the order in which this run computed them."""
    places = tensor_pairs.here[parted]
    by = opened.table.time[places] if len(opened.table.process_indexes) > 1 else places
    return np.asarray(parted[np.argsort(by, kind="stable")])


def _first_of_each(opened: OpenRun, tensor_pairs: TensorPairs, parted: Array) -> list[int]:
    """Return the first pair of each op that differs."""
    first = np.unique(opened.table.op[tensor_pairs.here[parted]], return_index=True)[1]
    return [int(at) for at in parted[np.sort(first)[:MAX_DIFFERING]]]


def _difference_json(opened: OpenRun, other: OpenRun, tensor_pairs: TensorPairs, at: int) -> dict[str, Any]:
    here, there = tensor_row(opened, int(tensor_pairs.here[at])), tensor_row(other, int(tensor_pairs.there[at]))
    return {"name": here["name"], "here": here, "there": there, "why": difference_words(here, there)}
