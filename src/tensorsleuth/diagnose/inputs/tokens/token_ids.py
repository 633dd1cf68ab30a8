"""Ids that are wrong for a model: without a row, rows of nothing but padding, special tokens twice or cut off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import IDS, Argument
from tensorsleuth.data.tokens.setting import Setting
from tensorsleuth.data.tokens.vocabulary import Vocabulary, of_size
from tensorsleuth.diagnose.inputs.input_parts import called
from tensorsleuth.diagnose.inputs.model_inputs import Given, Lookup
from tensorsleuth.diagnose.inputs.token_samples import Held, Sequences, held, sequences_of
from tensorsleuth.diagnose.inputs.token_wording import change_of, finding_of
from tensorsleuth.diagnose.inputs.tokens.narrow_ids import NarrowIds
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

START_ROWS = 32  # rows that begin alike, for a special token
CUT_ROWS = 16  # rows without padding, to say that what they began with was cut off
MOST_CUT = 0.9  # of them lack it: those that are just as long as may be have it still


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.once(Inside)
    if not inside.inputs:
        return
    given, narrow = process.once(Given), process.once(NarrowIds)
    for lookup in given.lookups:
        yield from _outside(given, lookup) if not narrow.wraps(lookup.spot) else ()
    for one in sequences_of(given):
        yield from _rows(given, one, bool(inside.attention))


RULE = Rule(
    id="token-ids",
    severity=Severity.WRONG,
    find=find,
    causes=("all-padding", "special-doubled", "special-missing", "vocabulary"),
)


def _outside(given: Given, lookup: Lookup) -> Iterator[RuleFinding]:
    """Ids that have no row, at any look."""
    name, kept = called(lookup.ids.series.name), lookup.ids.values()
    judged = {step: _vocabulary(name, ids, lookup.rows) for step, ids in kept.items()}
    broken = {step: found[0] for step, found in judged.items() if found}
    for step, violation in broken.items():
        found = Held(violation, len(broken), len(kept), step)
        does = f"is given {name}, which are looked up in {lookup.variable} ({lookup.rows:,} rows)"
        silent = f"; {lookup.variable} has {lookup.rows:,} rows, and XLA takes another of them without an error"
        change = change_of(violation) + (silent if given.is_compiled(lookup.spot) else "")
        yield finding_of(found, does, given.entry(lookup.spot), lookup.spot.type, change=change)
        return


def _vocabulary(name: str, ids: object, size: int) -> list[Violation]:
    array = np.atleast_1d(np.asarray(ids))
    argument = Argument(name, array if array.ndim > 1 else array[:, None])
    found = judge_arguments([argument], Setting(of_size(size)), {name: IDS})
    return [one for one in found if one.rule == "vocabulary"]


def _rows(given: Given, one: Sequences, attends: bool) -> Iterator[RuleFinding]:
    """Rows of nothing but padding, and special tokens that are there twice."""
    root = given.training.root_of(one.lookup.spot)
    losses = [spot for _, spot in given.labels if given.training.root_of(spot) == root]
    weighted = not losses or not all(given.is_plain_sum(spot) for spot in losses)
    entry, op = given.entry(one.lookup.spot), one.lookup.spot.type
    if one.padding is not None:
        for found in held([*one.at], lambda step: _judged(one, step, one.setting()), ("all-padding",)):
            yield finding_of(found, f"is given {one.name}", entry, op, sure=not weighted)
    for rule, start in (("special-doubled", _doubled(one)), ("special-missing", _cut_off(one))):
        if start is not None:
            setting = Setting(Vocabulary(one.lookup.rows, {"cls": start}), one.padding)
            for found in held([*one.at], partial(_judged, one, setting=setting), (rule,)):
                yield finding_of(found, f"is given {one.name}", entry, op, sure=attends)


def _judged(one: Sequences, step: int, setting: Setting) -> list[Violation]:
    return judge_arguments([Argument(one.name, one.at[step])], setting, {one.name: IDS})


def _doubled(one: Sequences) -> int | None:
    """The id that every row begins with twice, and has nowhere else: nobody said what is special."""
    rows = np.concatenate([ids[:, :2] for ids in one.at.values()])
    first = int(rows[0, 0])
    if len(rows) < START_ROWS or first == one.padding or not (rows == first).all():
        return None
    return first if not _comes_after(one, first, 2) else None


def _cut_off(one: Sequences) -> int | None:
    """The id that every padded row begins with, and has nowhere else, and that nearly no row without padding has."""
    firsts = np.concatenate([ids[:, 0] for ids in one.at.values()])
    padded = np.concatenate([(ids == one.padding).any(axis=1) for ids in one.at.values()])
    starts, full = firsts[padded], firsts[~padded]
    if one.padding is None or len(starts) < START_ROWS or len(full) < CUT_ROWS or (starts != starts[0]).any():
        return None
    start = int(starts[0])
    lacking = start != one.padding and np.mean(full != start) >= MOST_CUT
    return start if lacking and not _comes_after(one, start, 1) else None


def _comes_after(one: Sequences, token: int, places: int) -> bool:
    return any(bool((ids[:, places:] == token).any()) for ids in one.at.values())
