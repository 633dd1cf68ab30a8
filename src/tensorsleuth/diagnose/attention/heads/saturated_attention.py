"""Attention scores that are multiplied where they should be divided: one key gets all, before any training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.diagnose.attention.attention_graph import Attending, attention_of
from tensorsleuth.diagnose.attention.heads.score_scale import DIVIDES, Scaling, ScoreScale
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, once_a_line, piece
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside

FEWEST_KEYS = 8
LEAST_TIMES = 4.0  # as large as 1 / √depth
MOST_ENTROPY = 0.5  # of what all keys alike would have, at the first look
MOST_ENTROPY_ALONE = 0.35  # where it is not known how far scores are apart: compiled by XLA
LEAST_RANGE = 20.0  # from the smallest score to the largest, then
FIRST_STEP = 2  # later ones may have been learned


@dataclass(frozen=True)
class _Seen:
    entropy: float
    heads: int
    spread: float | None


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    attention = {one.op: one for one in process.once(Inside).attention}
    judged = (_judged(training, one, attention.get(one.name)) for one in attention_of(training) if attention)
    yield from once_a_line(finding for finding in judged if finding is not None)


RULE = Rule(id="saturated-attention", severity=Severity.WRONG, find=find)


def _judged(training: Training, one: Attending, attention: Attention | None) -> RuleFinding | None:
    if attention is None or not len(attention) or attention.steps[0] > FIRST_STEP or attention.columns < FEWEST_KEYS:
        return None
    scale = ScoreScale(training, one)
    scalings, depth = scale.scalings(), scale.depth
    if not scalings or not depth:
        return None
    total = math.prod(scaling.factor for scaling in scalings)
    seen = _seen(training, one, attention, scalings)
    if seen is None or abs(total) * math.sqrt(depth) < LEAST_TIMES or not _is_saturated(seen, total, depth):
        return None
    worst = max(scalings, key=lambda scaling: abs(scaling.factor))
    return _finding(training, one, worst, depth, seen, total)


def _seen(training: Training, one: Attending, attention: Attention, scalings: list[Scaling]) -> _Seen | None:
    entropy = [float(value) for value in attention.statistics(0).get("entropy", ()) if math.isfinite(value)]
    if not entropy:
        return None
    rows = training.rows((one.scores,)).get(one.scores)
    after = math.prod(scaling.factor for scaling in scalings if scaling.is_after)
    spread = abs(after) * float(rows[0]["max"] - rows[0]["min"]) if rows is not None and len(rows) else None
    return _Seen(sum(entropy) / len(entropy), len(entropy), spread)


def _is_saturated(seen: _Seen, total: float, depth: int) -> bool:
    """Is nearly all weight on one key, and would it not be with 1 / √depth."""
    if seen.spread is None:
        return seen.entropy <= MOST_ENTROPY_ALONE
    usual = seen.spread / (abs(total) * math.sqrt(depth))
    return seen.entropy <= MOST_ENTROPY and seen.spread >= LEAST_RANGE > usual


def _finding(training: Training, one: Attending, worst: Scaling, depth: int, seen: _Seen, total: float) -> RuleFinding:
    layer = training.layer(one.softmax)
    what = "attention scores" if worst.is_after else "what attention scores are made of"
    how = f"divides {what} by" if worst.spot.type in DIVIDES else f"multiplies {what} by"
    in_all = f" ({total:.3g} in all)" if not math.isclose(total, worst.factor) else ""
    in_all = f", which multiplies by {worst.factor:.3g}{in_all}" if worst.spot.type in DIVIDES else in_all
    named = how.replace(what, f"{what} ({layer})") if layer else how
    span = f"they span {seen.spread:.3g} in the first step, so that" if seen.spread is not None else "in the first step"
    why = (
        f"{named} {worst.number:.3g}{in_all}, where 1 / √{depth} = {1 / math.sqrt(depth):.3g} is usual: {span} "
        f"nearly all weight of a query is on one key before any training (entropy "
        f"{100 * seen.entropy:.0f} % of an even share, the mean of {seen.heads} heads), and its gradient is nearly zero"
    )
    frame = training.frame(worst.spot)
    said = f"scores times {worst.factor:.3g}; by the root of the depth it would be {1 / math.sqrt(depth):.3g}"
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_DIVIDE.format(depth=depth),
        frame=frame,
        op=worst.spot.type,
        step=0,
        evidence=(piece("in", worst.spot.type, said, frame),),
        about=(one.name,),
    )


_DIVIDE = (
    "divide the scores by the root of the depth of a head, once: tf.matmul(q, k, transpose_b=True) / {depth} ** 0.5"
)
