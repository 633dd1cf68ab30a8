"""Corrects times: an op that takes a batch ended before consumers of the batch began, even if its rows come later.

In a batch of images and labels, the images have a row, but integers have none. A consumer of the labels may run before
the probe of the images. It would then seem to have waited, and the op that did wait to have taken no time.
"""

from __future__ import annotations

import numpy as np

from tensorsleuth.analyze.profile.op_ends import OpEnds
from tensorsleuth.core.array import Array


def correct_batch_waits(
    rows: OpEnds, begin: Array, first: Array, takers: dict[int, set[int]]
) -> tuple[Array, Array, Array]:
    """Return begin, end and thread of ops, corrected; `takers` are the consumers of outputs without a row."""
    begin, end, thread = begin.copy(), rows.end.copy(), rows.thread.copy()
    turns = _turns(rows)
    for op, some in takers.items():
        waiting = np.flatnonzero((rows.op == op) & first)
        taking = np.flatnonzero(np.isin(rows.op, list(some)) & first)
        if not len(waiting) or not len(taking):
            continue
        earliest = _earliest(turns, taking, rows.end)
        by = earliest[turns[waiting]]
        late = (by >= 0) & (rows.end[by] < rows.end[waiting])
        waiting, by = waiting[late], by[late]
        begin[waiting] = np.minimum(begin[waiting], begin[by])
        end[waiting], thread[waiting] = rows.end[by], rows.thread[by]
        ended = np.zeros(int(turns.max(initial=0)) + 1, np.int64)
        ended[turns[waiting]] = end[waiting]
        begin[taking] = np.minimum(np.maximum(begin[taking], ended[turns[taking]]), end[taking])
    return begin, end, thread


def _turns(rows: OpEnds) -> Array:
    """Return a number for each run of a function, and within it for each iteration of a loop."""
    _, runs = np.unique(rows.tf_step, return_inverse=True)
    _, turns = np.unique(rows.loop_turn, return_inverse=True)
    both: Array
    _, both = np.unique(runs * np.int64(len(rows.tf_step) + 1) + turns, return_inverse=True)
    return both


def _earliest(turns: Array, rows: Array, ends: Array) -> Array:
    """Return for each iteration which of some rows ended first, -1 if there is none."""
    found = np.full(int(turns.max(initial=0)) + 1, -1, np.int64)
    order = rows[np.argsort(-ends[rows], kind="stable")]
    found[turns[order]] = order  # the last assignment wins
    return found
