"""Sampled batches of tokens: the ids, the padding, and the violations in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.padding import PaddingGuess, edge_runs, guess_padding
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.diagnose.inputs.input_parts import Slices
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs, TableLookup

LEAST_WIDTH, LEAST_VOCABULARY = 3, 5  # of ids that are text
PADDED_ROWS, PADDED_LENGTHS = 8, 3  # rows that end in padding, and of how many lengths, for this to be sure
FEWEST_SAMPLES = 2
MIN_SAMPLE_SHARE = 0.5  # of the looks, in more of which a finding has to hold


@dataclass(frozen=True)
class RepeatedViolation:
    """A violation, the number of samples with it, and the number that could have had it."""

    violation: Violation
    samples: int
    total: int
    step: int


class TokenSequences:
    """Rows of ids, of all samples."""

    def __init__(self, table_lookup: TableLookup) -> None:
        self.lookup = table_lookup
        self.series = table_lookup.ids.series
        self.name = program_input_name(self.series.name)

    @cached_property
    def ids_by_step(self) -> dict[int, Array]:
        """The ids by step, [rows, tokens]."""
        return {step: ids for step, ids in self.lookup.ids.values().items() if ids.ndim == 2}

    def sliced(self, slices: Slices) -> dict[int, Array]:
        """Return the ids of the sliced positions."""
        return {step: ids[slices] for step, ids in self.ids_by_step.items()}

    @cached_property
    def is_text(self) -> bool:
        """Return whether they are rows of tokens, not categories side by side, nor numbers of positions."""
        wide = all(ids.shape[1] >= LEAST_WIDTH for ids in self.ids_by_step.values())
        if not self.ids_by_step or not wide or self.lookup.rows < LEAST_VOCABULARY:
            return False
        return not all((ids == ids[:1]).all() for ids in self.ids_by_step.values())

    @cached_property
    def padding_id(self) -> int | None:
        """Return the padding id if rows end in runs of it, of many lengths, and have it nowhere else."""
        guesses = {guess.pad for ids in self.ids_by_step.values() if (guess := _guess(ids)) is not None}
        return next(iter(guesses)) if len(guesses) == 1 and self._is_sure(next(iter(guesses))) else None

    @cached_property
    def likely_padding_id(self) -> int | None:
        """Return the padding id, also if rows end in too few lengths of it to be sure, as short sentences do."""
        guesses = {guess.pad for ids in self.ids_by_step.values() if (guess := _guess(ids)) is not None}
        return self.padding_id if self.padding_id is not None or len(guesses) != 1 else next(iter(guesses))

    def _is_sure(self, pad: int) -> bool:
        lengths: list[int] = []
        for ids in self.ids_by_step.values():
            pads, there = ids == pad, np.ones(ids.shape, bool)
            lead, trail = edge_runs(pads, there)
            rows = ~pads.all(axis=1)
            if (pads & ~(lead | trail))[rows].any() or (lead[rows].any() and trail[rows].any()):
                return False
            lengths += (lead | trail)[rows].sum(axis=1).tolist()
        padded = [one for one in lengths if one]
        return len(padded) >= PADDED_ROWS and len(set(padded)) >= PADDED_LENGTHS

    def setting(self, **said: bool | str | None) -> TokenSettings:
        """Return the known facts about the ids; padding other than 0 may also be the end of a text."""
        specials = {"eos": self.padding_id} if self.padding_id else {}
        token_settings = TokenSettings(Vocabulary(self.lookup.rows, specials), self.padding_id)
        return replace(token_settings, **said)  # type: ignore[arg-type]


def _guess(ids: Array) -> PaddingGuess | None:
    return guess_padding(ids, np.ones(ids.shape, bool), None)


def token_sequences(model_inputs: ModelInputs) -> list[TokenSequences]:
    """Return all ids that are rows of tokens."""
    return [one for one in map(TokenSequences, model_inputs.lookups) if one.is_text]


def repeated_violations(
    steps: list[int], judge: Callable[[int], list[Violation] | None], rules: tuple[str, ...]
) -> Iterator[RepeatedViolation]:
    """Yield violations that hold in most samples that could show them: a single odd batch is no finding."""
    judged = {step: found for step in steps if (found := judge(step)) is not None}
    for rule in rules:
        broken = {step: one for step, found in judged.items() for one in found[::-1] if one.rule == rule}
        if len(broken) >= FEWEST_SAMPLES and len(broken) > MIN_SAMPLE_SHARE * len(judged):
            first = min(broken)
            yield RepeatedViolation(broken[first], len(broken), len(judged), first)
