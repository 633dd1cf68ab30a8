"""Judges attention heads: invalid, dead, uniform or collapsed weights, weight on later keys or on padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tensorsleuth.analyze.attention import thresholds as at
from tensorsleuth.analyze.attention.batch import AttentionInputs
from tensorsleuth.analyze.attention.looking_ahead import looks_ahead_remarks
from tensorsleuth.analyze.attention.padding import padding_remarks
from tensorsleuth.analyze.attention.remark import ERROR, NOTE, AttentionRemark
from tensorsleuth.analyze.attention.weight_statistics import evenness, query_dependence
from tensorsleuth.core.array import Array
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, AttentionSeries
from tensorsleuth.trace.series.watched import WatchedSeries


def judge(attention_series: Sequence[AttentionSeries], inputs: Sequence[WatchedSeries] = ()) -> list[AttentionRemark]:
    """Return the remarks at the last sample, worst first; `inputs` are the ids, masks and labels of `Inside.inputs`."""
    seen = [one for one in attention_series if len(one.statistics()) == len(HEAD_STATISTICS)]
    batch = AttentionInputs(inputs, int(seen[0].steps[-1])) if seen else AttentionInputs((), 0)
    found = [remark for one in seen for remark in _broken(one)]
    found += looks_ahead_remarks(seen, batch) + padding_remarks(seen, batch) + _idle(seen)
    return sorted(found, key=lambda remark: remark.severity != ERROR)


def _broken(one: AttentionSeries) -> list[AttentionRemark]:
    """Return remarks on rows that are not weights."""
    numbers, kept = one.statistics(), one.kept(-1)
    nan, zero, off = (numbers[name] for name in ("nan_rows", "zero_rows", "off_sum"))
    whole = zero >= (kept.batch * kept.rows if kept is not None else 1)
    found = [
        _remark(one, "nan-rows", nan > 0, "nan_rows", ERROR, partial(_rows, "NaN or infinite")),
        _remark(one, "off-sum", off > at.MAX_ROW_SUM_ERROR, "off_sum", ERROR, _off_sum),
        _remark(one, "zero-rows", whole, "zero_rows", ERROR, partial(_rows, "all zero")),
        _remark(one, "zero-rows", (zero > 0) & ~whole, "zero_rows", NOTE, partial(_rows, "zero")),
    ]
    return [remark for remark in found if remark is not None]


def _rows(how: str, many: float) -> str:
    rows = "the weights of 1 query" if many == 1 else f"the weights of {many:,.0f} queries"
    return f"{rows} are {how}. Is every key masked there?"


def _off_sum(most: float) -> str:
    where = "Is the softmax over the axis of the keys, after the mask?"
    return f"the weights of a query sum to a number that differs from 1 by {most:.2g}. {where}"


def _idle(seen: Sequence[AttentionSeries]) -> list[AttentionRemark]:
    """Return remarks on heads that no longer depend on their input: collapsed, dead, uniform."""
    found: list[AttentionRemark | None] = []
    lasting = [one for one in seen if one.rows >= at.MIN_QUERIES and one.columns >= at.MIN_KEYS]
    lively = _share_alive(lasting)
    for one in lasting:
        collapsed = one.statistics()["collapse"] >= at.MIN_COLLAPSED_WEIGHT
        found.append(_remark(one, "collapsed", collapsed, "collapse", NOTE, partial(_collapsed, one)))
        found += _dead(one, lively, collapsed[: len(_evenness(one, -1))])
    return [remark for remark in found if remark is not None]


def _collapsed(one: AttentionSeries, most: float) -> str:
    first = bool((one.statistics()["sink"] >= at.MIN_COLLAPSED_WEIGHT).any())
    where = "the first key, as heads with nothing to contribute do" if first else "one key"
    return f"all queries give {most:.0%} of their weight to {where}."


def _dead(one: AttentionSeries, lively: float, collapsed: Array) -> list[AttentionRemark | None]:
    numbers, step = _evenness(one, -1), int(one.steps[-1])
    looks = [look for look in range(len(one)) if one.steps[look] > 0 and len(_evenness(one, look)) == len(numbers)]
    trained = step >= at.MIN_TRAINED_STEPS and len(looks) >= at.MIN_TRAINED_SAMPLES
    if not trained or (lively < at.MIN_LIVELY_SHARE and step < at.LONG_TRAINED_STEPS):
        return []
    even = np.array([_evenness(one, look) >= at.MIN_UNIFORM_EVENNESS for look in looks])
    blind = np.array([_query_dependence(one, look) <= at.MAX_BLIND_DISTANCE for look in looks])
    dead = (even | blind).all(0) & ~collapsed
    uniform = even[-1] & ~dead & ~collapsed
    return [
        _remark(one, "dead", dead, "evenness", NOTE, lambda most: _DEAD, numbers),
        _remark(one, "uniform", uniform, "evenness", NOTE, lambda most: _UNIFORM, numbers),
    ]


_DEAD = "the weights have not depended on the query since training began."
_UNIFORM = "by now all keys get the same weight."


def _share_alive(seen: Sequence[AttentionSeries]) -> float:
    numbers = np.concatenate([np.zeros(0), *(_evenness(one, -1) for one in seen)])
    known = numbers[np.isfinite(numbers)]
    return float((known < at.MAX_LIVELY_EVENNESS).mean()) if len(known) else 0.0


def _evenness(one: AttentionSeries, look: int) -> Array:
    weights = one.weights(look)
    return evenness(weights) if weights is not None else np.zeros(0)


def _query_dependence(one: AttentionSeries, look: int) -> Array:
    weights = one.weights(look)
    return query_dependence(weights) if weights is not None else np.zeros(0)


def _remark(
    one: AttentionSeries,
    what: str,
    which: Array,
    number: str,
    severity: str,
    words: Callable[[float], str],
    numbers: Array | None = None,
) -> AttentionRemark | None:
    """Return a remark on the heads `which`, with the largest of their numbers as evidence."""
    heads = tuple(int(head) for head in np.flatnonzero(which))
    if not heads:
        return None
    numbers = one.statistics()[number] if numbers is None else numbers
    most = float(numbers[list(heads)].max())
    place = one.file, one.line
    step = int(one.steps[-1])
    return AttentionRemark(what, severity, one.name, heads, one.heads, words(most), step, {number: most}, *place)
