"""The tokens that texts begin and end with, inferred from the ids alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences

PADDED_ROWS = 32  # of which all begin, or end, alike: of these one can be sure, they are whole


@dataclass(frozen=True)
class SpecialTokenIds:
    """The ids of special tokens, if they are certain."""

    start: int | None = None
    end: int | None = None

    def by_name(self) -> dict[str, int]:
        """Return them by the names that vocabularies use."""
        known = {"bos": self.start, "eos": self.end}
        return {name: number for name, number in known.items() if number is not None}


def special_tokens_of(one: TokenSequences) -> SpecialTokenIds:
    """Return the tokens that every padded row begins and ends with, if no row has them anywhere else."""
    if one.padding_id is None:
        return SpecialTokenIds()
    rows = [_row(ids, one.padding_id) for ids in one.ids_by_step.values()]
    firsts, lasts = (np.concatenate([row[edge] for row in rows]) for edge in (0, 1))
    return SpecialTokenIds(_alike(one, firsts, 0), _alike(one, lasts, 1))


def _row(ids: Array, padding: int) -> tuple[Array, Array]:
    """Return the first and the last token of each padded row."""
    real = ids != padding
    padded = real.any(axis=1) & ~real.all(axis=1)
    ids, real = ids[padded], real[padded]
    each, width = np.arange(len(ids)), ids.shape[1]
    return ids[each, real.argmax(axis=1)], ids[each, width - 1 - real[:, ::-1].argmax(axis=1)]


def _alike(one: TokenSequences, tokens: Array, edge: int) -> int | None:
    if len(tokens) < PADDED_ROWS or (tokens != tokens[0]).any():
        return None
    token = int(tokens[0])
    return None if any(_comes_inside(ids, token, one.padding_id, edge) for ids in one.ids_by_step.values()) else token


def _comes_inside(ids: Array, token: int, padding: int | None, edge: int) -> bool:
    """Return whether it is anywhere but at the beginning, or the end, of a row."""
    at, real = ids == token, ids != padding
    before = np.cumsum(real, axis=1) if edge == 0 else np.cumsum(real[:, ::-1], axis=1)[:, ::-1]
    return bool((at & (before > 1)).any())
