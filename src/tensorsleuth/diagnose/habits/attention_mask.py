"""A mask of attention that is turned round, leaves padding open, covers tokens, or is stretched by luck."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.diagnose.around import Spot
from tensorsleuth.diagnose.attending import Attending, attention_of
from tensorsleuth.diagnose.given import Given
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.mask_seen import MaskSeen, is_mask
from tensorsleuth.diagnose.parts import called
from tensorsleuth.diagnose.token_looks import Sequences, held, sequences_of
from tensorsleuth.diagnose.token_words import habit_of
from tensorsleuth.diagnose.training import Training
from tensorsleuth.model.catalog import Frame
from tensorsleuth.trace.attention import Attention
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.watched import WatchedSeries

RULES = ("mask-inverted", "mask-open", "mask-covers")
MAY_BE_MEANT = ("mask-covers",)  # tokens may be hidden on purpose; scores far apart underflow to the same zeros


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = process.once(Inside)
    if not inside.inputs or not inside.attention:
        return
    training = process.once(Training)
    given, told = process.once(Given), set[tuple[str, Frame | None]]()
    padded = [one for one in sequences_of(given) if one.padding is not None]
    seen = {one.op: one for one in inside.attention}
    for each in attention_of(training) if padded else ():
        node = each.softmax.described
        attention = seen.get(node.name) if node is not None else None
        for habit in _judged(given, each, attention, padded) if attention is not None else ():
            if (habit.cause, habit.frame) not in told:
                told.add((habit.cause, habit.frame))
                yield habit


def _judged(given: Given, each: Attending, attention: Attention, padded: list[Sequences]) -> Iterator[Habit]:
    """Where there is a mask, and one kind of ids that the keys may be."""
    masks = given.masks(each.softmax)
    fitting = _keys(given, each, attention, padded)
    fitting = [one for one in fitting if one.series.name in masks] or fitting
    if len(fitting) != 1 or not masks:
        return
    series, taker = _mask(masks, fitting[0])
    own = series.name != fitting[0].series.name
    name = called(series.name) if own and is_mask(series, fitting[0]) else "the mask"
    seen = MaskSeen(attention, fitting[0], name)
    steps = [int(step) for step in attention.steps]
    lucky = list(held(steps, seen.by_luck, ("token-shape",)))
    layer = given.training.layer(each.softmax)
    does = f"masks attention{f' ({layer})' if layer else ''} over {fitting[0].name}, as its weights show"
    for found in lucky:
        yield habit_of(found, does, given.training.frame(each.softmax), "Softmax")
    for found in held(steps, seen.judged, RULES) if not lucky else ():
        frame = given.entry(taker) if name != "the mask" else _line(given, taker)
        does = f"is given {name}, which {does}" if name != "the mask" else does
        yield habit_of(found, does, frame, taker.type, found.violation.rule not in MAY_BE_MEANT)


def _keys(given: Given, each: Attending, attention: Attention, padded: list[Sequences]) -> list[Sequences]:
    """Ids of the same function that are as long as there are keys."""
    root = given.training.root_of(each.softmax)
    mine = [one for one in padded if given.training.root_of(one.lookup.spot) == root]
    return [one for one in mine if {ids.shape[1] for ids in one.at.values()} == {attention.columns}]


def _mask(masks: dict[str, tuple[WatchedSeries, Spot]], ids: Sequences) -> tuple[WatchedSeries, Spot]:
    """What the mask is, or is made of: a mask that is given, the ids, or something else, such as lengths."""
    given = (pair for name, pair in masks.items() if name != ids.series.name and is_mask(pair[0], ids))
    return next(given, None) or masks.get(ids.series.name) or next(iter(masks.values()))


def _line(given: Given, spot: Spot) -> Frame | None:
    site = given.training.around.site(spot)
    return site.frame if site is not None and site.frame is not None else given.entry(spot)
