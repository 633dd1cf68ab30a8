"""Labels that are wrong for the ids beside them: not moved in a causal model, or padding that counts in the loss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tensorsleuth.diagnose.around import Spot
from tensorsleuth.diagnose.attending import attention_of
from tensorsleuth.diagnose.given import Given, called
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.token_looks import Sequences, held, sequences_of, values
from tensorsleuth.diagnose.token_words import habit_of
from tensorsleuth.diagnose.training import Training
from tensorsleuth.model.dtypes import is_float
from tensorsleuth.model.violation import Violation
from tensorsleuth.tokens.arguments import judge_arguments
from tensorsleuth.tokens.roles import IDS, LABELS, Argument
from tensorsleuth.tokens.shift import Agreement
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array
from tensorsleuth.trace.watched import WatchedSeries

CAUSAL = 1e-3  # weight on later keys, at most
MOVES = frozenset(["Roll", "Reverse", "ReverseV2"])
JOINS = frozenset(["Pad", "PadV2", "MirrorPad", "ConcatV2", "TensorScatterUpdate"])


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = Inside(process)
    if not inside.inputs:
        return
    given = Given(Training(process), inside)
    for one in sequences_of(given) if given.labels else ():
        yield from _labelled(given, one, inside)


def _labelled(given: Given, one: Sequences, inside: Inside) -> Iterator[Habit]:
    for labels, spot in given.labels:
        root = given.training.root_of(spot)
        mine = [other for other in sequences_of(given) if given.training.root_of(other.lookup.spot) == root]
        beside = [other.series.name for other in mine if _fits(other, labels)]
        if beside == [one.series.name]:  # else it is not known which ids they belong to
            yield from _with_labels(given, one, inside, labels, spot)


def _fits(one: Sequences, labels: WatchedSeries) -> bool:
    kept = values(labels)
    return any(step in kept and kept[step].shape[:2] == ids.shape for step, ids in one.at.items())


def _with_labels(given: Given, one: Sequences, inside: Inside, series: WatchedSeries, spot: Spot) -> Iterator[Habit]:
    name, kept = called(series.name), values(series)
    name = name if name != one.name else f"{name} as labels"
    causal = _is_causal(given, inside, one)
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
    return one.padding is not None and given.is_plain_sum(spot)


def _is_causal(given: Given, inside: Inside, one: Sequences) -> bool:
    """Does all attention of the function look back only, and does nothing move the ids on the way."""
    training, root = given.training, given.training.root_of(one.lookup.spot)
    ops = [each.softmax.described for each in attention_of(training) if training.root_of(each.softmax) == root]
    names = {node.name for node in ops if node is not None}
    widths = {ids.shape[1] for ids in one.at.values()}
    mine = [each for each in inside.attention if each.op in names]
    if not mine or not all(each.rows == each.columns and each.columns in widths for each in mine):
        return False
    looks = [(each, look) for each in mine for look, step in enumerate(each.steps) if int(step) in one.at]
    ahead = [each.statistics(look).get("ahead", np.ones(1)) for each, look in looks]
    causal = all(bool((np.nan_to_num(part, nan=1.0) <= CAUSAL).all()) for part in ahead)
    return bool(ahead) and causal and not _moved(one)


def _moved(one: Sequences) -> bool:
    """Are ids, or what was looked up, moved inside of the model."""
    nodes = one.lookup.spot.function.nodes if one.lookup.spot.function is not None else ()
    forward = [node for node in nodes if node.forward is None]
    # Shapes are put together as well, of whole numbers.
    joined = any(node.type in JOINS and any(map(is_float, node.dtypes)) for node in forward)
    return joined or any(node.type in MOVES for node in forward)
