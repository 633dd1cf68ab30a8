"""A mask of attention that is turned round, leaves padding open, covers tokens, or lies along the wrong axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.diagnose.around import Spot
from tensorsleuth.diagnose.given import Given
from tensorsleuth.diagnose.habit import Habit, once_a_line
from tensorsleuth.diagnose.mask_seen import OF_QUERIES
from tensorsleuth.diagnose.mask_way import MaskWay
from tensorsleuth.diagnose.multiplied import MultipliedMasks
from tensorsleuth.diagnose.padded_attention import THE_MASK, Over, PaddedAttention
from tensorsleuth.diagnose.token_looks import Held, held
from tensorsleuth.diagnose.token_words import habit_of
from tensorsleuth.model.catalog import Frame
from tensorsleuth.trace.process import ProcessTrace

RULES = ("mask-inverted", "mask-open", "mask-covers")
MAY_BE_MEANT = ("mask-covers",)  # tokens may be hidden on purpose; scores far apart underflow to the same zeros


def find(process: ProcessTrace) -> Iterator[Habit]:
    multiplied = process.once(MultipliedMasks)  # these hide nothing, whatever they are
    masked = [one for one in process.once(PaddedAttention).all if one.masks and not multiplied.of(one.each.softmax)]
    found = ((over, habit) for over in masked for habit in _judged(process.once(Given), over))
    yield from once_a_line(replace(habit, about=(over.each.name,)) for over, habit in found)


def _judged(given: Given, over: Over) -> Iterator[Habit]:
    softmax, seen = over.each.softmax, over.seen
    series, taker = over.mask
    way, layer = MaskWay(given, softmax, series), given.training.layer(softmax)
    does = f"masks attention{f' ({layer})' if layer else ''} over {over.ids.name}, as its weights show"
    lucky = list(held(over.steps, seen.by_luck, ("token-shape",)))
    for found in lucky:
        yield habit_of(found, does, given.training.frame(softmax), "Softmax")
    frame, shape = way.widened_at()
    turned = list(held(over.steps, lambda step: seen.of_queries(step, shape), (OF_QUERIES,))) if not lucky else []
    for found in turned:
        yield habit_of(found, does, frame or way.made_at() or given.training.frame(softmax), "Softmax")
    for found in held(over.steps, seen.judged, RULES) if not lucky and not turned else ():
        yield _of_keys(given, over, found, taker, does, way)


def _of_keys(given: Given, over: Over, found: Held, taker: Spot, does: str, way: MaskWay) -> Habit:
    name = over.seen.name
    frame = given.entry(taker) if name != THE_MASK else way.made_at() or _line(given, taker)
    does = f"is given {name}, which {does}" if name != THE_MASK else does
    return habit_of(found, does, frame, taker.type, found.violation.rule not in MAY_BE_MEANT)


def _line(given: Given, spot: Spot) -> Frame | None:
    site = given.training.around.site(spot)
    return site.frame if site is not None and site.frame is not None else given.entry(spot)
