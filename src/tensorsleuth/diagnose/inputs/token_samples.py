"""Batches of tokens as a recording kept them, look by look: ids, what padding is, and what is judged of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.padding import Guess, edges, guess_padding
from tensorsleuth.data.tokens.setting import Setting
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.diagnose.inputs.input_parts import Cut, called
from tensorsleuth.diagnose.inputs.model_inputs import Given, Lookup

LEAST_WIDTH, LEAST_VOCABULARY = 3, 5  # of ids that are text
PADDED_ROWS, LENGTHS = 8, 3  # rows that end in padding, and of how many lengths, for this to be sure
FEWEST_LOOKS = 2
MOST = 0.5  # of the looks, in more of which a finding has to hold


@dataclass(frozen=True)
class Held:
    """A violation, in how many looks it held, and in how many it could have."""

    violation: Violation
    looks: int
    total: int
    step: int


class Sequences:
    """Ids in rows, at all looks."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.series = lookup.ids.series
        self.name = called(self.series.name)

    @cached_property
    def at(self) -> dict[int, Array]:
        """The ids by step, [rows, tokens]."""
        return {step: ids for step, ids in self.lookup.ids.values().items() if ids.ndim == 2}

    def cut(self, cut: Cut) -> dict[int, Array]:
        """The ids of the positions that something is computed of."""
        return {step: ids[cut] for step, ids in self.at.items()}

    @cached_property
    def is_text(self) -> bool:
        """Return whether they are rows of tokens, not categories side by side, nor numbers of positions."""
        wide = all(ids.shape[1] >= LEAST_WIDTH for ids in self.at.values())
        if not self.at or not wide or self.lookup.rows < LEAST_VOCABULARY:
            return False
        return not all((ids == ids[:1]).all() for ids in self.at.values())

    @cached_property
    def padding(self) -> int | None:
        """Its id, where looks leave no doubt: rows end in runs of it, of many lengths, and have it nowhere else."""
        guesses = {guess.pad for ids in self.at.values() if (guess := _guess(ids)) is not None}
        return next(iter(guesses)) if len(guesses) == 1 and self._is_sure(next(iter(guesses))) else None

    def _is_sure(self, pad: int) -> bool:
        lengths: list[int] = []
        for ids in self.at.values():
            pads, there = ids == pad, np.ones(ids.shape, bool)
            lead, trail = edges(pads, there)
            rows = ~pads.all(axis=1)
            if (pads & ~(lead | trail))[rows].any() or (lead[rows].any() and trail[rows].any()):
                return False
            lengths += (lead | trail)[rows].sum(axis=1).tolist()
        padded = [one for one in lengths if one]
        return len(padded) >= PADDED_ROWS and len(set(padded)) >= LENGTHS

    def setting(self, **said: bool | str | None) -> Setting:
        """Return the known facts about the ids; padding other than 0 may also be the end of a text."""
        specials = {"eos": self.padding} if self.padding else {}
        setting = Setting(Vocabulary(self.lookup.rows, specials), self.padding)
        return replace(setting, **said)  # type: ignore[arg-type]


def _guess(ids: Array) -> Guess | None:
    return guess_padding(ids, np.ones(ids.shape, bool), None)


def sequences_of(given: Given) -> list[Sequences]:
    """All ids that are rows of tokens."""
    return [one for one in map(Sequences, given.lookups) if one.is_text]


def held(steps: list[int], judge: Callable[[int], list[Violation] | None], rules: tuple[str, ...]) -> Iterator[Held]:
    """Yield violations that hold in most samples that could show them: a single odd batch is no finding."""
    judged = {step: found for step in steps if (found := judge(step)) is not None}
    for rule in rules:
        broken = {step: one for step, found in judged.items() for one in found[::-1] if one.rule == rule}
        if len(broken) >= FEWEST_LOOKS and len(broken) > MOST * len(judged):
            first = min(broken)
            yield Held(broken[first], len(broken), len(judged), first)
