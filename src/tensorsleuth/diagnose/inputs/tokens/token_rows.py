"""Rows of ids that lost their end or hold no word, recognized by the special tokens of complete rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import IDS, Argument
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.diagnose.attention.causal_leak import is_causal, label_shift
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.inputs.token_samples import (
    MIN_SAMPLE_SHARE,
    RepeatedViolation,
    TokenSequences,
    repeated_violations,
    token_sequences,
)
from tensorsleuth.diagnose.inputs.token_wording import token_finding
from tensorsleuth.diagnose.inputs.tokens.special_tokens import SpecialTokenIds, special_tokens_of
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

EMPTY_ROWS = 2  # rows without a word, to speak of them
MIN_EMPTY_SHARE = 0.05  # of all rows: it is no accident


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    if not inside.inputs:
        return
    given = process.cached(ModelInputs)
    for one in token_sequences(given):
        specials = special_tokens_of(one)
        found = [*_empty(one, specials), *([] if _predicts_next(given, inside, one) else _truncated(one, specials))]
        entry, op = given.entry(one.lookup.gather), one.lookup.gather.type
        for each in found:
            yield token_finding(each, f"is given {one.name}", entry, op, sure=not _may_skip_rows(given, one))


RULE = Rule(id="token-rows", severity=Severity.WRONG, find=find, about_samples=True, causes=("empty", "truncated"))


def _predicts_next(model_inputs: ModelInputs, layer_statistics: LayerStatistics, one: TokenSequences) -> bool:
    """Return whether the model learns the next token: then a truncated text is only a shorter text."""
    moved = (label_shift(one, labels.values(), model_inputs.logit_slices(spot)) for labels, spot in model_inputs.labels)
    return any(offset is not None for offset in moved) or is_causal(model_inputs, layer_statistics, one)


def _may_skip_rows(model_inputs: ModelInputs, one: TokenSequences) -> bool:
    """Return whether the loss may leave rows out."""
    root = model_inputs.training.root_id(one.lookup.gather)
    losses = [spot for _, spot in model_inputs.labels if model_inputs.training.root_id(spot) == root]
    return not losses or not all(model_inputs.is_unweighted_sum(spot) for spot in losses)


def _truncated(one: TokenSequences, special_token_ids: SpecialTokenIds) -> Iterator[RepeatedViolation]:
    """Yield ids most of whose rows have no padding and lack the end token of all padded rows."""
    if special_token_ids.end is not None:
        yield from repeated_violations(
            [*one.ids_by_step], lambda step: _judge(one, step, special_token_ids), ("truncated",)
        )


def _empty(one: TokenSequences, special_token_ids: SpecialTokenIds) -> Iterator[RepeatedViolation]:
    """Yield rows of special tokens only, over all samples together: one batch may have none."""
    judged = (
        {step: _judge(one, step, special_token_ids) for step in one.ids_by_step} if special_token_ids.by_name() else {}
    )
    broken = {step: each for step, found in judged.items() for each in found if each.rule == "empty"}
    rows, total = sum(each.broken or 0 for each in broken.values()), sum(len(ids) for ids in one.ids_by_step.values())
    if rows < EMPTY_ROWS:
        return
    first = min(broken)
    both = special_token_ids.start is not None and special_token_ids.end is not None
    many = both and rows >= MIN_EMPTY_SHARE * total and len(broken) > MIN_SAMPLE_SHARE * len(judged)
    told = replace(broken[first], broken=rows, total=total, severity="error" if many else "note")
    yield RepeatedViolation(told, len(broken), len(judged), first)


def _judge(one: TokenSequences, step: int, special_token_ids: SpecialTokenIds) -> list[Violation]:
    token_settings = TokenSettings(Vocabulary(one.lookup.rows, special_token_ids.by_name()), one.padding_id)
    return judge_arguments([Argument(one.name, np.asarray(one.ids_by_step[step]))], token_settings, {one.name: IDS})
