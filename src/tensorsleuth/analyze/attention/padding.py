"""Attention to padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorsleuth.analyze.attention import thresholds as at
from tensorsleuth.analyze.attention.batch import AttentionInputs, InputIds
from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.analyze.attention.remark import ERROR, NOTE, AttentionRemark
from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.attention import AttentionSample, AttentionSeries


def padding_remarks(
    attention_series: Sequence[AttentionSeries], attention_inputs: AttentionInputs
) -> list[AttentionRemark]:
    """Return remarks on layers in which tokens, as queries, give weight to padding, as keys."""
    return [remark for one in attention_series for remark in _judge(one, attention_inputs)]


def _judge(one: AttentionSeries, attention_inputs: AttentionInputs) -> list[AttentionRemark]:
    kept = one.kept(-1)
    if kept is None or kept.columns < at.MIN_KEYS:
        return []
    fitting = attention_inputs.ids_matching(kept.batch, kept.columns)
    shares = [(share, ids) for ids in fitting if (share := padding_share(kept, ids)) is not None]
    if len(shares) != len(fitting) or not shares:
        return []  # if several ids fit, the keys may be those without padding
    share, ids = min(shares, key=lambda pair: float(np.nanmax(pair[0])))
    heads = tuple(int(head) for head in np.flatnonzero(share > at.MAX_PADDING_WEIGHT))
    if not heads:
        return []
    most = float(share[list(heads)].max())
    names = " or ".join(program_input_name(one.name) for one in fitting)
    words = f"tokens give {most:.0%} of their weight to padding (of {names}). Does the mask reach this layer?"
    severity = ERROR if ids.mask is not None else NOTE
    place = one.file, one.line
    step = int(one.steps[-1])
    return [
        AttentionRemark("on-padding", severity, one.name, heads, len(share), words, step, {"padding": most}, *place)
    ]


def padding_share(attention_sample: AttentionSample, ids: InputIds) -> Array | None:
    """Return for each head the mean weight of tokens on padding, or None if no kept sample has padding."""
    padding = ids.padding
    if padding is None:
        return None
    rows, columns = attention_sample.scale
    many = len(attention_sample.weights)
    whole = np.asarray(_blocks(padding[:many], columns).all(-1))  # a block of keys counts if all of it is padding
    asks = (
        ~np.asarray(_blocks(padding[:many], rows).any(-1))
        if attention_sample.rows == attention_sample.columns
        else np.ones((many, 1), bool)
    )
    counted = asks & whole.any(-1, keepdims=True)
    if whole.shape[-1] != attention_sample.weights.shape[-1] or not counted.any():
        return None
    shares = np.nan_to_num((attention_sample.weights * whole[:, None, None, :]).sum(-1))
    counted = np.broadcast_to(counted[:, None], shares.shape)
    return np.asarray(np.where(counted, shares, 0.0).sum((0, 2)) / counted.sum((0, 2)))


def _blocks(marks: Array, size: int) -> Array:
    """Reshape [samples, tokens] into [samples, blocks, size]; the last block repeats its last entry."""
    missing = -marks.shape[1] % size
    filled = np.pad(marks, ((0, 0), (0, missing)), mode="edge")
    return filled.reshape(len(marks), -1, size)
