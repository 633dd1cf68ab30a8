"""The positions that are certainly padding, or tokens, and the guess of the padding id."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tensorsleuth.data.tokens.settings import PAD_FROM_MASK, PAD_FROM_VALUES

Marks = npt.NDArray[np.bool_]
Ids = npt.NDArray[Any]


class PaddingGuess(NamedTuple):
    pad: int
    by: str
    why: str


def edge_runs(pads: Marks, there: Marks) -> tuple[Marks, Marks]:
    """Return the runs at the begin of rows, and those at the end."""
    open_ = pads | ~there
    lead = np.logical_and.accumulate(open_, axis=1) & there
    trail = np.logical_and.accumulate(open_[:, ::-1], axis=1)[:, ::-1] & there
    return lead, trail


def certain_padding(ids: Ids, there: Marks, pad: int | None, shared: bool) -> Marks:
    """Return the padding at the begin or end of rows. The same id between tokens may be a token, and is left out.

    If the id also ends texts (`shared`), the one next to the tokens may be that. If every row begins with it, the first
    one may be a start token, as for the decoder of T5.
    """
    if pad is None or not ids.size:
        return np.zeros(ids.shape, bool)
    pads = (ids == pad) & there
    lead, trail = edge_runs(pads, there)
    whole = (lead == there).all(axis=1) & there.any(axis=1)
    if lead[:, 0].all() and not whole.all():
        lead[:, 0] = False
    if shared:
        lead[:, :-1] &= lead[:, 1:]
        lead[:, -1] = False
        trail[:, 1:] &= trail[:, :-1].copy()
        trail[:, 0] = False
    return np.where(whole[:, None], pads, lead | trail)


def guess_padding(ids: Ids, there: Marks, kept: Marks | None) -> PaddingGuess | None:
    """Guess from the mask, else from the begin or end of rows; return None if there seems to be no padding."""
    return (_by_mask(ids, there, kept) if kept is not None else None) or _by_looks(ids, there)


def _by_mask(ids: Ids, there: Marks, kept: Marks) -> PaddingGuess | None:
    """Guess an id that is the only one at positions with mask 0, or with mask 1 if the mask is inverted."""
    covered, open_ = np.unique(ids[there & ~kept]), np.unique(ids[there & kept])
    for mine, others, word in ((covered, open_, "covers"), (open_, covered, "leaves")):
        if len(mine) == 1 and len(others) > 1:
            return PaddingGuess(int(mine[0]), PAD_FROM_MASK, f"all that the mask {word} is {int(mine[0])}")
    return None


def _by_looks(ids: Ids, there: Marks) -> PaddingGuess | None:
    if ids.shape[0] == 0 or ids.shape[1] < 3:
        return None
    for column, verb in ((-1, "ends"), (0, "begins")):
        found, counts = np.unique(ids[:, column][there[:, column]], return_counts=True)
        likely = [0, *(int(found[at]) for at in np.argsort(-counts)[:3])]
        for pad in dict.fromkeys(likely):
            rows = _padded_rows(ids, there, pad, column)
            if rows:
                return PaddingGuess(pad, PAD_FROM_VALUES, f"it {verb} {rows:,} of {len(ids):,} rows")
    return None


def _padded_rows(ids: Ids, there: Marks, pad: int, column: int) -> int:
    """Return the number of rows that end (or begin) with a run of it and have it nowhere else; else 0."""
    pads = (ids == pad) & there
    run = edge_runs(pads, there)[0 if column == 0 else 1]
    tokens = (there & ~pads).sum(axis=1)
    if (pads & ~run)[tokens > 0].any() or not pads.any() or tokens.max(initial=0) < 2:
        return 0
    lengths = run[tokens > 0].sum(axis=1)
    long = lengths[lengths > 1]
    enough = len(long) >= 1 if pad == 0 else len(np.unique(long)) >= 2
    return int(np.count_nonzero(lengths)) if enough else 0
