"""A mask of attention that is turned round, leaves padding open, covers tokens, or lies along the wrong axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.violation import Violation
from tensorsleuth.diagnose.attention.masks.mask_path import MaskWay
from tensorsleuth.diagnose.attention.masks.multiplied_masks import MultipliedMasks
from tensorsleuth.diagnose.attention.masks.observed_mask import OF_QUERIES
from tensorsleuth.diagnose.attention.masks.padded_attention import THE_MASK, Over, PaddedAttention
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.model_inputs import Given
from tensorsleuth.diagnose.inputs.token_samples import Held, held
from tensorsleuth.diagnose.inputs.token_wording import finding_of
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, once_a_line
from tensorsleuth.trace.process.process import ProcessTrace

RULES = ("mask-inverted", "mask-open", "mask-covers")
SHAPE = ("token-shape",)
MAY_BE_MEANT = ("mask-covers",)  # tokens may be hidden on purpose; scores far apart underflow to the same zeros


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    multiplied = process.once(MultipliedMasks)  # these hide nothing, whatever they are
    masked = [one for one in process.once(PaddedAttention).all if one.masks and not multiplied.of(one.each.softmax)]
    found = ((over, finding) for over in masked for finding in _judged(process.once(Given), over))
    yield from once_a_line(replace(finding, about=(over.each.name,)) for over, finding in found)


RULE = Rule(id="attention-mask", severity=Severity.WRONG, find=find, causes=(*RULES, *SHAPE, OF_QUERIES, "token-dtype"))


def _judged(given: Given, over: Over) -> Iterator[RuleFinding]:
    softmax, seen = over.each.softmax, over.seen
    series, taker = over.mask
    way, layer = MaskWay(given, softmax, series), given.training.layer(softmax)
    does = f"masks attention{f' ({layer})' if layer else ''} over {over.ids.name}, as its weights show"
    along = list(_along(given, over, way, does))
    yield from along
    for found in held(over.steps, seen.judged, RULES) if not along else ():
        wraps = way.wraps_at() if found.violation.rule not in MAY_BE_MEANT else None
        if wraps is not None:
            yield _below_nothing(way, found, wraps, does)
        else:
            yield _of_keys(given, over, found, taker, does, way)


def _along(given: Given, over: Over, way: MaskWay, does: str) -> Iterator[RuleFinding]:
    """Yield a mask along the wrong axis. Its other effects follow from that."""
    seen, attends = over.seen, given.training.frame(over.each.softmax)
    frame, shape = way.widened_at()
    for found in held(over.steps, seen.by_luck, SHAPE):
        yield finding_of(found, does, attends, "Softmax")
        return
    for found in held(over.steps, seen.by_heads, SHAPE):
        yield finding_of(found, does, frame or attends, "Softmax")
        return
    for found in held(over.steps, lambda step: seen.of_queries(step, shape), (OF_QUERIES,)):
        yield finding_of(found, does, frame or way.made_at() or attends, "Softmax")


def _below_nothing(way: MaskWay, found: Held, wraps: Spot, does: str) -> RuleFinding:
    """It looks as if the mask were turned round, or covered nothing; it was right before."""
    assert wraps.described is not None
    dtype = dtype_of(wraps.described.dtypes[0])
    said = f"{2 ** (8 * dtype.itemsize) - 1:,}: {dtype.name} is unsigned and wraps around"
    wrong = Violation("token-dtype", found.violation.name, "-1 on padding", said, change=_SIGNED)
    return finding_of(replace(found, violation=wrong), does, way.own(wraps), wraps.type)


def _of_keys(given: Given, over: Over, found: Held, taker: Spot, does: str, way: MaskWay) -> RuleFinding:
    name = over.seen.name
    frame = given.entry(taker) if name != THE_MASK else way.made_at() or _line(given, taker)
    does = f"is given {name}, which {does}" if name != THE_MASK else does
    return finding_of(found, does, frame, taker.type, found.violation.rule not in MAY_BE_MEANT)


_SIGNED = "cast the mask before it is subtracted from: tf.cast(mask, tf.float32) - 1.0; or subtract it, 1 - mask"


def _line(given: Given, spot: Spot) -> Frame | None:
    site = given.training.around.site(spot)
    return site.frame if site is not None and site.frame is not None else given.entry(spot)
