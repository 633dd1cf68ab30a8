"""Ids that are wrong for a model: out of the table, all padding, special tokens doubled or cut off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import IDS, Argument
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.vocabulary import Vocabulary, vocabulary_of_size
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs, TableLookup
from tensorsleuth.diagnose.inputs.token_samples import (
    RepeatedViolation,
    TokenSequences,
    repeated_violations,
    token_sequences,
)
from tensorsleuth.diagnose.inputs.token_wording import fix_of, token_finding
from tensorsleuth.diagnose.inputs.tokens.narrow_ids import NarrowIds
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

START_ROWS = 32  # rows that begin alike, for a special token
CUT_ROWS = 16  # rows without padding, to say that what they began with was cut off
MIN_CUT_SHARE = 0.9  # of them lack it: those that are just as long as may be have it still


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    if not inside.inputs:
        return
    given, narrow = process.cached(ModelInputs), process.cached(NarrowIds)
    for lookup in given.lookups:
        yield from _out_of_vocabulary(given, lookup) if not narrow.wraps_around(lookup.gather) else ()
    for one in token_sequences(given):
        yield from _rows(given, one, bool(inside.attention))


RULE = Rule(
    id="token-ids",
    severity=Severity.WRONG,
    find=find,
    about_samples=True,
    causes=("all-padding", "special-doubled", "special-missing", "vocabulary"),
)


def _out_of_vocabulary(model_inputs: ModelInputs, table_lookup: TableLookup) -> Iterator[RuleFinding]:
    """Yield ids without a row, in any sample."""
    name, kept = program_input_name(table_lookup.ids.series.name), table_lookup.ids.values()
    judged = {step: _vocabulary(name, ids, table_lookup.rows) for step, ids in kept.items()}
    broken = {step: found[0] for step, found in judged.items() if found}
    for step, violation in broken.items():
        found = RepeatedViolation(violation, len(broken), len(kept), step)
        does = f"is given {name}, which are looked up in {table_lookup.variable} ({table_lookup.rows:,} rows)"
        silent = (
            f"; {table_lookup.variable} has {table_lookup.rows:,} rows, and XLA takes another of them without an error"
        )
        change = fix_of(violation) + (silent if model_inputs.is_compiled(table_lookup.gather) else "")
        yield token_finding(
            found, does, model_inputs.entry(table_lookup.gather), table_lookup.gather.type, change=change
        )
        return


def _vocabulary(name: str, ids: object, size: int) -> list[Violation]:
    array = np.atleast_1d(np.asarray(ids))
    argument = Argument(name, array if array.ndim > 1 else array[:, None])
    found = judge_arguments([argument], TokenSettings(vocabulary_of_size(size)), {name: IDS})
    return [one for one in found if one.rule == "vocabulary"]


def _rows(model_inputs: ModelInputs, one: TokenSequences, attends: bool) -> Iterator[RuleFinding]:
    """Yield rows of only padding, and doubled special tokens."""
    root = model_inputs.training.root_id(one.lookup.gather)
    losses = [spot for _, spot in model_inputs.labels if model_inputs.training.root_id(spot) == root]
    weighted = not losses or not all(model_inputs.is_unweighted_sum(spot) for spot in losses)
    entry, op = model_inputs.entry(one.lookup.gather), one.lookup.gather.type
    if one.padding_id is not None:
        for found in repeated_violations(
            [*one.ids_by_step], lambda step: _judge(one, step, one.setting()), ("all-padding",)
        ):
            yield token_finding(found, f"is given {one.name}", entry, op, sure=not weighted)
    for rule, start in (("special-doubled", _doubled(one)), ("special-missing", _cut_off(one))):
        if start is not None:
            token_settings = TokenSettings(Vocabulary(one.lookup.rows, {"cls": start}), one.padding_id)
            for found in repeated_violations(
                [*one.ids_by_step], partial(_judge, one, token_settings=token_settings), (rule,)
            ):
                yield token_finding(found, f"is given {one.name}", entry, op, sure=attends)


def _judge(one: TokenSequences, step: int, token_settings: TokenSettings) -> list[Violation]:
    return judge_arguments([Argument(one.name, one.ids_by_step[step])], token_settings, {one.name: IDS})


def _doubled(one: TokenSequences) -> int | None:
    """Return the id that every row begins with twice and has nowhere else: an unannounced special token."""
    rows = np.concatenate([ids[:, :2] for ids in one.ids_by_step.values()])
    first = int(rows[0, 0])
    if len(rows) < START_ROWS or first == one.padding_id or not (rows == first).all():
        return None
    return first if not _comes_after(one, first, 2) else None


def _cut_off(one: TokenSequences) -> int | None:
    """Return the first id of every padded row if it occurs nowhere else and nearly no row without padding has it."""
    firsts = np.concatenate([ids[:, 0] for ids in one.ids_by_step.values()])
    padded = np.concatenate([(ids == one.padding_id).any(axis=1) for ids in one.ids_by_step.values()])
    starts, full = firsts[padded], firsts[~padded]
    if one.padding_id is None or len(starts) < START_ROWS or len(full) < CUT_ROWS or (starts != starts[0]).any():
        return None
    start = int(starts[0])
    lacking = start != one.padding_id and np.mean(full != start) >= MIN_CUT_SHARE
    return start if lacking and not _comes_after(one, start, 1) else None


def _comes_after(one: TokenSequences, token: int, places: int) -> bool:
    return any(bool((ids[:, places:] == token).any()) for ids in one.ids_by_step.values())
