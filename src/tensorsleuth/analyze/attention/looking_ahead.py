"""Attention to later positions in a model that should be causal."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tensorsleuth.analyze.attention import thresholds as at
from tensorsleuth.analyze.attention.batch import AttentionInputs
from tensorsleuth.analyze.attention.remark import ERROR, AttentionRemark
from tensorsleuth.analyze.attention.weight_statistics import later_key_weight, queries_ahead
from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.attention import AttentionSeries

LAYER_NUMBERS = re.compile(r"[_:]?\d+")


def looks_ahead_remarks(
    attention_series: Sequence[AttentionSeries], attention_inputs: AttentionInputs
) -> list[AttentionRemark]:
    """Return remarks on layers with weight on later keys, if the others of that name or the labels say they must not.

    Names are compared without their numbers: encoder and decoder have different names, and may differ. If only some
    queries attend to later keys, the model may read a prefix as a whole, and the labels prove nothing.
    """
    found = []
    weights = {one.name: _later_key_weight(one) for one in attention_series}
    next_token = attention_inputs.is_next_token and _any_seen(weights)
    for one in attention_series:
        beside = [
            weights[other.name] for other in attention_series if _family(other) == _family(one) and other is not one
        ]
        heads = np.flatnonzero(weights[one.name] > at.MIN_AHEAD_WEIGHT)
        why = _why(beside, next_token and not _reads_a_prefix(one, attention_inputs))
        if len(heads) and why:
            found.append(_remark(one, heads, weights[one.name], why))
    return found


def _later_key_weight(one: AttentionSeries) -> Array:
    """Return for each head the mean weight on later keys. Unlike `statistics`, this leaves out padding."""
    weights = one.weights() if _is_square(one) else None
    if weights is None or weights.shape[-1] != weights.shape[-2]:
        return np.zeros(0)
    numbers = later_key_weight(weights)
    return np.where(numbers > at.MIN_AHEAD_WEIGHT_IN_BLOCKS, numbers, 0.0) if max(one.scale()) > 1 else numbers


def _reads_a_prefix(one: AttentionSeries, attention_inputs: AttentionInputs) -> bool:
    """Return whether many queries attend only to earlier keys, as queries after a prefix do."""
    weights, text = one.weights(), attention_inputs.input_ids[0]
    if weights is None or one.scale() != (1, 1) or not len(weights) <= len(text.ids) or text.ids.shape[1] != one.rows:
        return False
    share = queries_ahead(weights, text.tokens)
    return share is not None and share < at.MAX_PREFIX_SHARE


def _is_square(one: AttentionSeries) -> bool:
    return one.rows == one.columns >= at.MIN_KEYS


def _any_seen(weights: dict[str, Array]) -> bool:
    return any(len(one) for one in weights.values())


def _family(one: AttentionSeries) -> str:
    return LAYER_NUMBERS.sub("#", one.name) if "/" in one.name else LAYER_NUMBERS.sub("", one.name)


def _why(beside: list[Array], next_token: bool) -> str:
    seen = [one for one in beside if len(one)]
    causal = sum(bool((one <= at.MAX_CAUSAL_WEIGHT).all()) for one in seen)
    if causal and causal >= at.MIN_CAUSAL_SHARE * (len(seen) + 1):
        others = f"the other {causal}" if causal == len(seen) else f"{causal} of the other {len(seen)}"
        return f"{others} of this kind look back only"
    return "the labels are the ids shifted by one, so each query sees what it has to predict" if next_token else ""


def _remark(one: AttentionSeries, heads: Array, weights: Array, why: str) -> AttentionRemark:
    most = float(weights[heads].max())
    words = f"{most:.0%} of the weight is on keys that come after the query, while {why}. Is the causal mask missing?"
    words = words.replace("while the labels", "and the labels")
    told = tuple(int(head) for head in heads)
    evidence = {"ahead": most}
    step = int(one.steps[-1])
    return AttentionRemark("looks-ahead", ERROR, one.name, told, one.heads, words, step, evidence, one.file, one.line)
