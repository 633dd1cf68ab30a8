"""Attention over ids that have padding, and what masks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, find_attention, sample_indexes
from tensorsleuth.diagnose.attention.key_inputs import KeyInputs
from tensorsleuth.diagnose.attention.masks.float_masks import FloatMask, float_masks
from tensorsleuth.diagnose.attention.masks.observed_mask import ObservedMask, is_binary_mask
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

MaskSource = WatchedSeries | FloatMask
MaskSources = Mapping[str, tuple[MaskSource, OpNode]]
UNNAMED_MASK = "the mask"  # one that is made of something else in the function


@dataclass(frozen=True)
class AttentionOverPadding:
    """An attention whose keys are ids with padding."""

    ops: AttentionOps
    attention: AttentionSeries
    ids: TokenSequences
    masks: MaskSources  # what is given that it is masked by, and the first op that takes it

    @property
    def steps(self) -> list[int]:
        return [int(step) for step in self.attention.steps]

    @property
    def mask_source(self) -> tuple[MaskSource, OpNode]:
        """Return the source of the mask: an input mask, the ids, or something else, such as lengths."""
        own = self.ids.series.name
        given = (pair for name, pair in self.masks.items() if name != own and is_binary_mask(pair[0], self.ids))
        return next(given, None) or self.masks.get(own) or next(iter(self.masks.values()))

    @cached_property
    def observed_mask(self) -> ObservedMask:
        """Return the mask that its weights show."""
        if not self.masks:
            return ObservedMask(self.attention, self.ids, UNNAMED_MASK)
        series, _ = self.mask_source
        own = series.name != self.ids.series.name and is_binary_mask(series, self.ids)
        return ObservedMask(self.attention, self.ids, program_input_name(series.name) if own else UNNAMED_MASK)

    @cached_property
    def hides_padding(self) -> bool:
        """Return whether its mask hides the padding of every sample that shows it."""
        judged = [found for step in self.steps if (found := self.observed_mask.judge(step)) is not None]
        return bool(self.masks and judged) and not any(judged)


class PaddedAttention:
    """All attention of a process over ids with padding."""

    def __init__(self, process: ProcessTrace) -> None:
        self._layer_statistics = process.cached(LayerStatistics)
        ready = bool(self._layer_statistics.inputs and self._layer_statistics.attention)
        self._key_inputs = process.cached(KeyInputs) if ready else None

    @cached_property
    def all(self) -> list[AttentionOverPadding]:
        texts, seen = self._key_inputs, {one.op: one for one in self._layer_statistics.attention}
        padded = [one for one in texts.sequences if one.padding_id is not None] if texts is not None else []
        found = []
        for each in find_attention(texts.training) if texts is not None and padded else ():
            node = each.softmax.graph_node
            attention = seen.get(node.name) if node is not None else None
            over = self._over(texts, each, attention, padded) if texts is not None and attention is not None else None
            found += [over] if over is not None else []
        return found

    def _over(
        self, texts: KeyInputs, each: AttentionOps, attention_series: AttentionSeries, padded: list[TokenSequences]
    ) -> AttentionOverPadding | None:
        """Return the ids of the keys, if one kind fits: of the same function, as long as there are keys."""
        training, masks = texts.training, texts.model_inputs.masks_of(each.softmax)
        root, read = training.root_id(each.softmax), texts.keys_of(each)
        fitting = [
            one for one in padded if training.root_id(one.lookup.gather) == root and _is_as_long(one, attention_series)
        ]
        fitting = [one for one in fitting if not read or any(one is text for text in read)]
        fitting = [one for one in fitting if one.series.name in masks] or fitting
        if len(fitting) != 1:
            return None
        return AttentionOverPadding(
            each, attention_series, fitting[0], masks or float_masks(texts.model_inputs, each.softmax, fitting[0])
        )


def _is_as_long(one: TokenSequences, attention_series: AttentionSeries) -> bool:
    """Return whether there are as many ids as keys in each sample: batches may be padded to different widths."""
    looks = (
        (one.ids_by_step.get(int(attention_series.steps[look])), attention_series.kept(look))
        for look in sample_indexes(attention_series)
    )
    widths = [(ids.shape[1], kept.columns) for ids, kept in looks if ids is not None and kept is not None]
    return bool(widths) and all(ids == keys for ids, keys in widths)
