"""Rows of ids that lost their end, or that have no word: told by the special tokens that whole rows have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import IDS, Argument
from tensorsleuth.data.tokens.setting import Setting
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.diagnose.attention.causal_leak import is_causal, moved_by
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import MOST, Held, Sequences, held, sequences_of
from tensorsleuth.diagnose.inputs.token_wording import finding_of
from tensorsleuth.diagnose.inputs.tokens.special_tokens import Specials, specials_of
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

EMPTY_ROWS = 2  # rows without a word, to speak of them
MANY_EMPTY = 0.05  # of all rows: it is no accident


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.once(Inside)
    if not inside.inputs:
        return
    given = process.once(Given)
    for one in sequences_of(given):
        specials = specials_of(one)
        found = [*_empty(one, specials), *([] if _goes_on(given, inside, one) else _truncated(one, specials))]
        entry, op = given.entry(one.lookup.spot), one.lookup.spot.type
        for each in found:
            yield finding_of(each, f"is given {one.name}", entry, op, sure=not _weighs(given, one))


RULE = Rule(id="token-rows", severity=Severity.WRONG, find=find, causes=("empty", "truncated"))


def _goes_on(given: Given, inside: Inside, one: Sequences) -> bool:
    """Is the next token learned: then a text that is cut is a shorter text, and nothing else is lost."""
    moved = (moved_by(one, labels.values(), given.cut_of_logits(spot)) for labels, spot in given.labels)
    return any(offset is not None for offset in moved) or is_causal(given, inside, one)


def _weighs(given: Given, one: Sequences) -> bool:
    """May the loss leave rows out."""
    root = given.training.root_of(one.lookup.spot)
    losses = [spot for _, spot in given.labels if given.training.root_of(spot) == root]
    return not losses or not all(given.is_plain_sum(spot) for spot in losses)


def _truncated(one: Sequences, specials: Specials) -> Iterator[Held]:
    """Most rows have no padding and lack the end that all padded ones have."""
    if specials.end is not None:
        yield from held([*one.at], lambda step: _judged(one, step, specials), ("truncated",))


def _empty(one: Sequences, specials: Specials) -> Iterator[Held]:
    """Rows of special tokens only, of all looks together: one batch may have none."""
    judged = {step: _judged(one, step, specials) for step in one.at} if specials.named() else {}
    broken = {step: each for step, found in judged.items() for each in found if each.rule == "empty"}
    rows, total = sum(each.broken or 0 for each in broken.values()), sum(len(ids) for ids in one.at.values())
    if rows < EMPTY_ROWS:
        return
    first = min(broken)
    both = specials.start is not None and specials.end is not None
    many = both and rows >= MANY_EMPTY * total and len(broken) > MOST * len(judged)
    told = replace(broken[first], broken=rows, total=total, severity="error" if many else "note")
    yield Held(told, len(broken), len(judged), first)


def _judged(one: Sequences, step: int, specials: Specials) -> list[Violation]:
    setting = Setting(Vocabulary(one.lookup.rows, specials.named()), one.padding)
    return judge_arguments([Argument(one.name, np.asarray(one.at[step]))], setting, {one.name: IDS})
