"""The shape of a head's weights: do they choose among the keys, and do they depend on the query?"""

from __future__ import annotations

import numpy as np

from tensorsleuth.analyze.attention.thresholds import MIN_AHEAD_WEIGHT, MIN_KEYS
from tensorsleuth.core.array import Array

MIN_SEEN_WEIGHT = 1e-9  # a key with less is masked
FLAT_ROW_TOLERANCE = 1e-4  # relative; a row with all keys masked is flat up to rounding


def evenness(weights: Array) -> Array:
    """Return each head's entropy, of [samples, heads, rows, columns], as a share of the maximum.

    A row counts only the keys that it sees, so that a causal head that does not choose is as even as any other. The
    result is NaN if no row sees enough keys.
    """
    seen = (weights > MIN_SEEN_WEIGHT).sum(-1)
    logs = np.log(np.where(weights > MIN_SEEN_WEIGHT, weights, 1.0))
    entropy = -(weights * logs).sum(-1) / np.log(np.maximum(seen, 2))
    return _mean(entropy, _judgeable_rows(weights, seen))


def query_dependence(weights: Array) -> Array:
    """Return for each head the share of weight by which a row differs from the row that sees the most keys.

    Only the keys that both rows see are compared. The result is 0 if the scores do not depend on the query.
    """
    seen = weights > MIN_SEEN_WEIGHT
    widest = seen.sum(-1).argmax(-1)[..., None, None]
    row = np.take_along_axis(weights, widest, -2)
    alike = np.where(seen, row, 0.0)
    total = alike.sum(-1, keepdims=True)
    alike = np.divide(alike, total, out=np.zeros_like(alike), where=total > 0)
    return _mean(np.abs(weights - alike).sum(-1) / 2, _judgeable_rows(weights, seen.sum(-1)))


def later_key_weight(weights: Array) -> Array:
    """Return for each head of square weights the mean weight on later keys, over queries that see any key."""
    later = np.triu(np.ones(weights.shape[-2:], bool), 1)
    counted = np.isfinite(weights).all(-1) & informative_rows(weights)
    return np.nan_to_num(_mean((np.nan_to_num(weights) * later).sum(-1), counted))


def queries_ahead(weights: Array, tokens: Array) -> float | None:
    """Return the share of queries [samples, rows] before later tokens that attend to some of these, with any head."""
    later = np.cumsum(tokens[:, ::-1], axis=1)[:, ::-1] - tokens > 0
    asked = (tokens & later)[: len(weights)]
    looks = np.triu(np.nan_to_num(weights[: len(asked)].max(axis=1)), 1).sum(-1) > MIN_AHEAD_WEIGHT
    return float(looks[asked].mean()) if asked.any() else None


def informative_rows(weights: Array) -> Array:
    """Return which rows [samples, heads, rows] see some keys and not others, or all rows of a head without such rows.

    A query with all keys masked, as padding often is, weights all of them equally, including later ones. The last
    column is left out, because its block may have fewer keys.
    """
    keys = weights[..., :-1]
    uneven = keys.max(-1) - keys.min(-1) > FLAT_ROW_TOLERANCE * keys.mean(-1)
    return np.asarray(uneven | ~uneven.any((0, 2), keepdims=True))


def _judgeable_rows(weights: Array, seen: Array) -> Array:
    return np.asarray((seen >= MIN_KEYS) & np.isfinite(weights).all(-1) & informative_rows(weights))


def _mean(numbers: Array, counted: Array) -> Array:
    """Return the mean over samples and rows, for each head."""
    many = counted.sum((0, 2))
    total = np.where(counted, numbers, 0.0).sum((0, 2))
    return np.asarray(np.divide(total, many, out=np.full(len(many), np.nan), where=many > 0))
