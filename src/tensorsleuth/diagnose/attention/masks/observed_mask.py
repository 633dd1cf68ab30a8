"""The mask of an attention, as its weights show it: keys that no query gave any weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.roles import IDS, MASK, Argument
from tensorsleuth.diagnose.attention.masks.float_masks import FloatMask
from tensorsleuth.diagnose.inputs.input_parts import InputPart
from tensorsleuth.diagnose.inputs.token_samples import TokenSequences
from tensorsleuth.trace.series.attention import AttentionSample, AttentionSeries
from tensorsleuth.trace.series.watched import WatchedSeries

MAX_MASKED_WEIGHT = 1e-30  # weight: what a mask leaves; a sharp softmax leaves more
MAX_UNEVENNESS = 1e-6  # by which weights differ that are all the same
MIN_READ_WEIGHT = 1e-4  # weight on padding that counts as read
MASK_OF_QUERIES = "mask-of-queries"


@dataclass(frozen=True)
class ObservedMask:
    """An attention over ids whose padding is known."""

    attention: AttentionSeries
    ids: TokenSequences
    name: str  # of the mask, in sentences

    def judge(self, step: int) -> list[Violation] | None:
        """Return the faults of the mask at a sample; None if no sample with padding was kept."""
        weights, ids = self._weights(step), self.ids.ids_by_step.get(step)
        if weights is None or ids is None or len(ids) < len(weights):
            return None
        ids = ids[: len(weights)]
        padding = ids == self.ids.padding_id
        some = padding.any(axis=1) & ~padding.all(axis=1)
        if not some.any():
            return None
        kept = _keys_read(weights, padding)[some]
        from tensorsleuth.data.tokens.arguments import judge_arguments  # with all checks of tokens

        arguments = [Argument(self.ids.name, ids[some]), Argument(self.name, kept)]
        found = judge_arguments(arguments, self.ids.setting(), {self.ids.name: IDS, self.name: MASK})
        samples = np.flatnonzero(some).tolist()
        return [replace(one, positions=tuple((samples[at], *rest) for at, *rest in one.positions)) for one in found]

    def laid_over_queries(self, step: int) -> list[Violation] | None:
        """Report that query i gets the mask of sample i: a mask [batch, keys] broadcast over [queries, keys]."""
        weights, ids = self._weights(step), self.ids.ids_by_step.get(step)
        if weights is None or ids is None or len(weights) < 2 or len(ids) != weights.shape[2]:
            return None
        padding = np.asarray(ids == self.ids.padding_id)
        rows = padding.any(axis=1) & ~padding.all(axis=1)
        none = np.asarray((weights <= MAX_MASKED_WEIGHT).all(axis=1))  # [samples, queries, keys]
        laid = (none[:, rows] == padding[rows]).all()
        if len(np.unique(padding[rows], axis=0)) < 2 or not laid or padding.shape[1] != none.shape[2]:
            return []
        return [self._over_queries_violation(padding.shape)]

    def laid_over_heads(self, step: int) -> list[Violation] | None:
        """Report that head i gets the mask of sample i: [batch, 1, keys] broadcast over [heads, queries, keys]."""
        weights, ids = self._weights(step), self.ids.ids_by_step.get(step)
        if weights is None or ids is None or len(weights) < 2 or len(ids) != weights.shape[1]:
            return None
        padding = np.asarray(ids == self.ids.padding_id)
        rows = padding.any(axis=1) & ~padding.all(axis=1)
        none = np.asarray((weights <= MAX_MASKED_WEIGHT).all(axis=2))  # [samples, heads, keys]
        if len(np.unique(padding[rows], axis=0)) < 2 or padding.shape[1] != none.shape[2]:
            return None
        return [self._over_heads_violation(padding.shape)] if (none[:, rows] == padding[rows]).all() else []

    def masks_queries(self, step: int, shape: tuple[int, ...] | None) -> list[Violation] | None:
        """Report that padding is masked as queries instead of as keys: a mask [batch, queries, 1]."""
        weights, ids = self._weights(step), self.ids.ids_by_step.get(step)
        if weights is None or ids is None or len(ids) < len(weights) or weights.shape[2] != ids.shape[1]:
            return None
        padding = np.asarray(ids[: len(weights)] == self.ids.padding_id)
        some = padding.any(axis=1) & ~padding.all(axis=1)
        even = (weights.max(axis=-1) - weights.min(axis=-1) <= MAX_UNEVENNESS).all(axis=1)  # [samples, queries]
        read = (np.where(padding[:, None, None], weights, 0.0).sum(-1) > MIN_READ_WEIGHT).any(axis=1)
        if not some.any() or even[some].all():
            return None
        laid = (even == padding)[some].all() and (read | padding)[some].all()
        return [self._query_mask_violation(shape, ids.shape)] if laid else []

    def _query_mask_violation(self, shape: tuple[int, ...] | None, ids: tuple[int, ...]) -> Violation:
        made = f"{list(shape)}, " if shape is not None and shape[-1] == 1 else ""
        found = f"{made}a row for each query: queries that are padding see all keys alike, and tokens see padding"
        change = (
            "Give the mask its axis for the queries before that of the keys: mask[:, tf.newaxis, :] of [batch, keys]."
        )
        return Violation(
            MASK_OF_QUERIES, self.name, f"[{ids[0]}, 1, {ids[1]}], a column for each key", found, change=change
        )

    def weight_on_padding(self) -> float | None:
        """Return the mean weight of tokens on padding over all samples that have some: some heads learn to ignore
        it."""
        shares = []
        for step in (int(step) for step in self.attention.steps):
            weights, ids = self._weights(step), self.ids.ids_by_step.get(step)
            if weights is None or ids is None or len(ids) < len(weights):
                continue
            padding = np.asarray(ids[: len(weights)] == self.ids.padding_id)
            asks = _token_queries(weights, padding) & padding.any(axis=1, keepdims=True)
            given = np.where(padding[:, None, None], weights, 0.0).sum(-1).mean(axis=1)
            shares += [float(given[asks].mean())] if asks.any() else []
        return float(np.mean(shares)) if shares else None

    def _over_queries_violation(self, shape: tuple[int, ...]) -> Violation:
        found = f"{list(shape)}, laid over [queries, keys]: query i of every sample has the mask of sample i"
        change = (
            f"Give the mask a dimension for the queries, mask[:, None, :]; it passes only because there are as many "
            f"samples as tokens ({shape[0]})."
        )
        return Violation("token-shape", self.name, f"shape [{shape[0]}, 1, {shape[1]}]", found, change=change)

    def _over_heads_violation(self, shape: tuple[int, ...]) -> Violation:
        found = f"{shape[0]} rows of it laid over as many heads: head i of every sample has the mask of sample i"
        change = (
            f"Give the mask a dimension for the heads too, mask[:, None, None, :]; it passes only because there are "
            f"as many samples as heads ({shape[0]})."
        )
        return Violation("token-shape", self.name, f"shape [{shape[0]}, 1, 1, {shape[1]}]", found, change=change)

    def _weights(self, step: int) -> Array | None:
        looks = np.flatnonzero(self.attention.steps == step)
        kept = self.attention.kept(int(looks[0])) if len(looks) else None
        ids = self.ids.ids_by_step.get(step)
        if kept is None or ids is None or kept.columns != ids.shape[1]:
            return None
        whole = kept.scale == (1, 1) and bool(np.isfinite(kept.weights).all())
        return self._by_samples(kept, step) if whole else None

    def _by_samples(self, attention_sample: AttentionSample, step: int) -> Array | None:
        """Return the weights as [samples, heads, queries, keys], also if heads are part of the batch, as in BART."""
        looks = np.flatnonzero(self.ids.series.steps == step)
        samples = self.ids.series.shape(int(looks[0]))[0] if len(looks) else 0
        if samples == attention_sample.batch:
            return attention_sample.weights
        if attention_sample.heads > 1 or not samples or attention_sample.batch % samples:
            return None
        return attention_sample.weights[None, : attention_sample.batch // samples, 0]


def _keys_read(weights: Array, padding: Array) -> Array:
    """Return which keys the token queries read, [samples, keys]; on padding, only weights above rounding error count.

    A query that may look nowhere, as padding in Keras, has the same weight for all keys, and does not count.
    """
    asks = _token_queries(weights, padding)
    even = weights.max(axis=-1) - weights.min(axis=-1) <= MAX_UNEVENNESS
    counted = asks[:, None, :] & ~even
    most = np.where(counted[..., None], weights, 0.0).max(axis=(1, 2))
    nothing = ~counted.any(axis=(1, 2))
    return np.asarray((most > np.where(padding, MIN_READ_WEIGHT, MAX_MASKED_WEIGHT)) | (nothing[:, None] & ~padding))


def _token_queries(weights: Array, padding: Array) -> Array:
    """Return which queries are tokens, [samples, queries]; all of them if the queries are another text."""
    of_keys = weights.shape[2] == padding.shape[1]
    return ~padding if of_keys else np.ones((len(weights), weights.shape[2]), bool)


def is_binary_mask(series: WatchedSeries | FloatMask, ids: TokenSequences) -> bool:
    """Return whether it is 0 and 1, one for each token; floats were not kept."""
    if isinstance(series, FloatMask):
        return False
    kept = InputPart(series).values()
    both = [(kept[step], one) for step, one in ids.ids_by_step.items() if step in kept]
    return bool(both) and all(mask.shape == one.shape and np.isin(mask, (0, 1)).all() for mask, one in both)
