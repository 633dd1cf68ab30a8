"""Attention over ids that have padding, and what masks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.diagnose.attention.attention_graph import Attending, attention_of, some_looks
from tensorsleuth.diagnose.attention.key_inputs import KeyTexts
from tensorsleuth.diagnose.attention.masks.float_masks import FloatMask, float_masks
from tensorsleuth.diagnose.attention.masks.observed_mask import MaskSeen, is_mask
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.inputs.input_parts import called
from tensorsleuth.diagnose.inputs.token_samples import Sequences
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside
from tensorsleuth.trace.series.watched import WatchedSeries

Masking = WatchedSeries | FloatMask
Masks = Mapping[str, tuple[Masking, Spot]]
THE_MASK = "the mask"  # one that is made of something else in the function


@dataclass(frozen=True)
class Over:
    """An attention whose keys are ids with padding."""

    each: Attending
    attention: Attention
    ids: Sequences
    masks: Masks  # what is given that it is masked by, and the first op that takes it

    @property
    def steps(self) -> list[int]:
        return [int(step) for step in self.attention.steps]

    @property
    def mask(self) -> tuple[Masking, Spot]:
        """Return the source of the mask: an input mask, the ids, or something else, such as lengths."""
        own = self.ids.series.name
        given = (pair for name, pair in self.masks.items() if name != own and is_mask(pair[0], self.ids))
        return next(given, None) or self.masks.get(own) or next(iter(self.masks.values()))

    @cached_property
    def seen(self) -> MaskSeen:
        """By its weights."""
        if not self.masks:
            return MaskSeen(self.attention, self.ids, THE_MASK)
        series, _ = self.mask
        own = series.name != self.ids.series.name and is_mask(series, self.ids)
        return MaskSeen(self.attention, self.ids, called(series.name) if own else THE_MASK)

    @cached_property
    def is_closed(self) -> bool:
        """Does its mask cover padding, wherever that could be seen."""
        judged = [found for step in self.steps if (found := self.seen.judged(step)) is not None]
        return bool(self.masks and judged) and not any(judged)


class PaddedAttention:
    """All of a process."""

    def __init__(self, process: ProcessTrace) -> None:
        self._inside = process.once(Inside)
        ready = bool(self._inside.inputs and self._inside.attention)
        self._texts = process.once(KeyTexts) if ready else None

    @cached_property
    def all(self) -> list[Over]:
        texts, seen = self._texts, {one.op: one for one in self._inside.attention}
        padded = [one for one in texts.texts if one.padding is not None] if texts is not None else []
        found = []
        for each in attention_of(texts.training) if texts is not None and padded else ():
            node = each.softmax.described
            attention = seen.get(node.name) if node is not None else None
            over = self._over(texts, each, attention, padded) if texts is not None and attention is not None else None
            found += [over] if over is not None else []
        return found

    def _over(self, texts: KeyTexts, each: Attending, attention: Attention, padded: list[Sequences]) -> Over | None:
        """Return the ids of the keys, if one kind fits: of the same function, as long as there are keys."""
        training, masks = texts.training, texts.given.masks(each.softmax)
        root, read = training.root_of(each.softmax), texts.of(each)
        fitting = [one for one in padded if training.root_of(one.lookup.spot) == root and _is_as_long(one, attention)]
        fitting = [one for one in fitting if not read or any(one is text for text in read)]
        fitting = [one for one in fitting if one.series.name in masks] or fitting
        if len(fitting) != 1:
            return None
        return Over(each, attention, fitting[0], masks or float_masks(texts.given, each.softmax, fitting[0]))


def _is_as_long(one: Sequences, attention: Attention) -> bool:
    """As many ids as keys at each look: batches may be padded to widths of their own."""
    looks = ((one.at.get(int(attention.steps[look])), attention.kept(look)) for look in some_looks(attention))
    widths = [(ids.shape[1], kept.columns) for ids, kept in looks if ids is not None and kept is not None]
    return bool(widths) and all(ids == keys for ids, keys in widths)
