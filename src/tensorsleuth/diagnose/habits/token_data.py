"""Ids and labels that a model is trained on, and should not: read from the batches that a recording kept."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tensorsleuth.diagnose.around import Spot
from tensorsleuth.diagnose.given import Given, Lookup, called
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.token_looks import Held, Sequences, held, sequences_of, values
from tensorsleuth.diagnose.token_words import habit_of
from tensorsleuth.diagnose.training import Training
from tensorsleuth.model.violation import Violation
from tensorsleuth.tokens.arguments import judge_arguments
from tensorsleuth.tokens.roles import IDS, LABELS, Argument
from tensorsleuth.tokens.setting import Setting
from tensorsleuth.tokens.shift import Agreement
from tensorsleuth.tokens.vocabulary import Vocabulary, of_size
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array
from tensorsleuth.trace.watched import WatchedSeries

CAUSAL = 1e-3  # weight on later keys, at most
SUMS = frozenset(["Sum", "Mean"])
SIZES = frozenset(["Shape", "Size"])  # what a mean divides by
MOVES = frozenset(["Pad", "PadV2", "MirrorPad", "ConcatV2", "Roll", "TensorScatterUpdate"])
START_ROWS = 32  # rows that begin alike, for a special token


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = Inside(process)
    if not inside.inputs:
        return
    given = Given(Training(process), inside)
    for lookup in given.lookups:
        yield from _outside(given, lookup)
    for one in sequences_of(given):
        yield from _rows(given, one, bool(inside.attention))
        yield from _labelled(given, one, inside)


# ---- ids


def _outside(given: Given, lookup: Lookup) -> Iterator[Habit]:
    """Ids that have no row: at any look, and of the whole batch."""
    name, rows = called(lookup.ids.name), lookup.ids.rows
    looks = [look for look in range(len(rows)) if rows["min"][look] < 0 or rows["max"][look] >= lookup.rows]
    kept = [(look, lookup.ids.value(look)) for look in looks]
    judged = [(look, _vocabulary(name, ids, lookup.rows)) for look, ids in kept if ids is not None and ids.size]
    for look, violations in (pair for pair in judged if pair[1]):
        found = Held(violations[0], len(looks), len(rows), int(lookup.ids.steps[look]))
        does = f"is given {name}, which are looked up in {lookup.variable} ({lookup.rows:,} rows)"
        yield habit_of(found, does, given.entry(lookup.spot), lookup.spot.type)
        return


def _vocabulary(name: str, ids: object, size: int) -> list[Violation]:
    array = np.atleast_1d(np.asarray(ids))
    argument = Argument(name, array if array.ndim > 1 else array[:, None])
    found = judge_arguments([argument], Setting(of_size(size)), {name: IDS})
    return [one for one in found if one.rule == "vocabulary"]


def _rows(given: Given, one: Sequences, attends: bool) -> Iterator[Habit]:
    """Rows of nothing but padding, and special tokens that are there twice."""
    weighted = any(not _is_plain_sum(given, spot) for _, spot in given.labels)
    entry, op = given.entry(one.lookup.spot), one.lookup.spot.type
    if one.padding is not None:
        for found in held([*one.at], lambda step: _judged(one, step, one.setting()), ("all-padding",)):
            yield habit_of(found, f"is given {one.name}", entry, op, sure=not weighted)
    specials = _doubled(one)
    if specials:
        setting = Setting(Vocabulary(one.lookup.rows, specials), one.padding)
        for found in held([*one.at], lambda step: _judged(one, step, setting), ("special-doubled",)):
            yield habit_of(found, f"is given {one.name}", entry, op, sure=attends)


def _judged(one: Sequences, step: int, setting: Setting) -> list[Violation]:
    return judge_arguments([Argument(one.name, one.at[step])], setting, {one.name: IDS})


def _doubled(one: Sequences) -> dict[str, int]:
    """The id that every row begins with twice, and has nowhere else: nobody said what is special."""
    rows = np.concatenate([ids[:, :2] for ids in one.at.values()])
    first = int(rows[0, 0])
    if len(rows) < START_ROWS or first == one.padding or not (rows == first).all():
        return {}
    again = any((ids[:, 2:] == first).any() for ids in one.at.values())
    return {} if again else {"cls": first}


# ---- labels


def _labelled(given: Given, one: Sequences, inside: Inside) -> Iterator[Habit]:
    for labels, spot in given.labels:
        beside = [other.series.name for other in sequences_of(given) if _fits(other, labels)]
        if beside == [one.series.name]:  # else it is not known which ids they belong to
            yield from _with_labels(given, one, inside, labels, spot)


def _fits(one: Sequences, labels: WatchedSeries) -> bool:
    kept = values(labels)
    return any(step in kept and kept[step].shape[:2] == ids.shape for step, ids in one.at.items())


def _with_labels(given: Given, one: Sequences, inside: Inside, series: WatchedSeries, spot: Spot) -> Iterator[Habit]:
    name, kept = called(series.name), values(series)
    name = name if name != one.name else f"{name} as labels"
    causal = _is_causal(inside, one)
    # Who moves them otherwise than by one may mean it: to copy the token before is a task.
    sure = "data" if causal and _are_the_same(one, kept) else None
    settings = {"labels-shift": one.setting(shifted_by=sure), "loss-padding": one.setting(causal=True)}
    asked = {"labels-shift": causal, "loss-padding": _counts_padding(given, one, spot)}

    def judge(step: int, rule: str) -> list[Violation] | None:
        if step not in kept:
            return None
        arguments = [Argument(one.name, one.at[step]), Argument(name, kept[step])]
        return judge_arguments(arguments, settings[rule], {one.name: IDS, name: LABELS})

    site = given.training.around.site(spot)
    for rule in (rule for rule, is_asked in asked.items() if is_asked):
        for found in held([*one.at], partial(judge, rule=rule), (rule,)):
            does = f"computes the loss of {one.name}, with {called(series.name)} as labels"
            yield habit_of(found, does, site.frame if site is not None else given.entry(spot), spot.type)


def _are_the_same(one: Sequences, labels: dict[int, Array]) -> bool:
    """Are the labels the ids, not moved."""
    agreement = Agreement()
    for step, ids in one.at.items():
        if step in labels and labels[step].shape == ids.shape:
            tokens = ids != one.padding if one.padding is not None else np.ones(ids.shape, bool)
            agreement.add(ids, labels[step], tokens, tokens)
    return agreement.offset == 0


def _counts_padding(given: Given, one: Sequences, spot: Spot) -> bool:
    return one.padding is not None and _is_plain_sum(given, spot)


def _is_plain_sum(given: Given, spot: Spot) -> bool:
    """Are the losses of all positions summed, with nothing that weighs or picks them."""
    users = {user for user in given.training.around.after(spot) if not user.is_gradient and user.type not in SIZES}
    return bool(users) and all(user.type in SUMS for user in users)


def _is_causal(inside: Inside, one: Sequences) -> bool:
    """Does all attention over these ids look back only, and does nothing move them on the way."""
    widths = {ids.shape[1] for ids in one.at.values()}
    square = [each for each in inside.attention if each.rows == each.columns and each.columns in widths]
    ahead = [each.statistics(look).get("ahead", np.ones(1)) for each in square for look in range(len(each))]
    if not ahead or len(square) != len(inside.attention):
        return False
    return all(bool((np.nan_to_num(part, nan=1.0) <= CAUSAL).all()) for part in ahead) and not _moved(one)


def _moved(one: Sequences) -> bool:
    """Are ids, or what was looked up, moved by one inside of the model."""
    nodes = one.lookup.spot.function.nodes if one.lookup.spot.function is not None else ()
    return any(node.type in MOVES and node.forward is None and _is_data(node.dtypes) for node in nodes)


def _is_data(dtypes: tuple[int, ...]) -> bool:
    return any(dtype in (1, 14, 19) for dtype in dtypes)  # float, bfloat16, half: what shapes are made of is whole
