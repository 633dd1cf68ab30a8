"""Attention scores that are multiplied instead of divided: one key gets all weight before any training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, find_attention
from tensorsleuth.diagnose.attention.heads.score_scale import DIVISIONS, ScalingOp, ScoreScale
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_KEYS = 8
MIN_SCALE_FACTOR = 4.0  # as large as 1 / √depth
MOST_ENTROPY = 0.5  # of what all keys alike would have, at the first look
MOST_ENTROPY_ALONE = 0.35  # where it is not known how far scores are apart: compiled by XLA
LEAST_RANGE = 20.0  # from the smallest score to the largest, then
FIRST_STEP = 2  # later ones may have been learned


@dataclass(frozen=True)
class _FirstStepScores:
    entropy: float
    heads: int
    spread: float | None


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    attention = {one.op: one for one in process.cached(LayerStatistics).attention}
    judged = (_judge(training, one, attention.get(one.name)) for one in find_attention(training) if attention)
    yield from merge_same_line(finding for finding in judged if finding is not None)


RULE = Rule(id="saturated-attention", severity=Severity.WRONG, find=find)


def _judge(
    training_graph: TrainingGraph, one: AttentionOps, attention_series: AttentionSeries | None
) -> RuleFinding | None:
    if (
        attention_series is None
        or not len(attention_series)
        or attention_series.steps[0] > FIRST_STEP
        or attention_series.columns < FEWEST_KEYS
    ):
        return None
    scale = ScoreScale(training_graph, one)
    scalings, depth = scale.scalings(), scale.depth
    if not scalings or not depth:
        return None
    total = math.prod(scaling.factor for scaling in scalings)
    seen = _first_step_scores(training_graph, one, attention_series, scalings)
    if seen is None or abs(total) * math.sqrt(depth) < MIN_SCALE_FACTOR or not _is_saturated(seen, total, depth):
        return None
    worst = max(scalings, key=lambda scaling: abs(scaling.factor))
    return _finding(training_graph, one, worst, depth, seen, total)


def _first_step_scores(
    training_graph: TrainingGraph, one: AttentionOps, attention_series: AttentionSeries, scaling_ops: list[ScalingOp]
) -> _FirstStepScores | None:
    entropy = [float(value) for value in attention_series.statistics(0).get("entropy", ()) if math.isfinite(value)]
    if not entropy:
        return None
    rows = training_graph.output_rows((one.scores,)).get(one.scores)
    after = math.prod(scaling.factor for scaling in scaling_ops if scaling.is_after)
    spread = abs(after) * float(rows[0]["max"] - rows[0]["min"]) if rows is not None and len(rows) else None
    return _FirstStepScores(sum(entropy) / len(entropy), len(entropy), spread)


def _is_saturated(first_step_scores: _FirstStepScores, total: float, depth: int) -> bool:
    """Return whether nearly all weight is on one key, and would not be with a scale of 1 / √depth."""
    if first_step_scores.spread is None:
        return first_step_scores.entropy <= MOST_ENTROPY_ALONE
    usual = first_step_scores.spread / (abs(total) * math.sqrt(depth))
    return first_step_scores.entropy <= MOST_ENTROPY and first_step_scores.spread >= LEAST_RANGE > usual


def _finding(
    training_graph: TrainingGraph,
    one: AttentionOps,
    worst: ScalingOp,
    depth: int,
    first_step_scores: _FirstStepScores,
    total: float,
) -> RuleFinding:
    layer = training_graph.layer(one.softmax)
    what = "attention scores" if worst.is_after else "what attention scores are made of"
    how = f"divides {what} by" if worst.op_node.type in DIVISIONS else f"multiplies {what} by"
    in_all = f" ({total:.3g} in all)" if not math.isclose(total, worst.factor) else ""
    in_all = f", which multiplies by {worst.factor:.3g}{in_all}" if worst.op_node.type in DIVISIONS else in_all
    named = how.replace(what, f"{what} ({layer})") if layer else how
    span = (
        f"they span {first_step_scores.spread:.3g} in the first step, so that"
        if first_step_scores.spread is not None
        else "in the first step"
    )
    why = (
        f"{named} {worst.number:.3g}{in_all}, where 1 / √{depth} = {1 / math.sqrt(depth):.3g} is usual: {span} "
        f"nearly all weight of a query is on one key before any training (entropy "
        f"{100 * first_step_scores.entropy:.0f} % of an even share, the mean of {first_step_scores.heads} "
        "heads), and its gradient is nearly zero"
    )
    frame = training_graph.frame(worst.op_node)
    said = f"scores times {worst.factor:.3g}; by the root of the depth it would be {1 / math.sqrt(depth):.3g}"
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_DIVIDE.format(depth=depth),
        frame=frame,
        op=worst.op_node.type,
        step=0,
        evidence=(text_evidence("in", worst.op_node.type, said, frame),),
        about=(one.name,),
    )


_DIVIDE = (
    "divide the scores by the root of the depth of a head, once: tf.matmul(q, k, transpose_b=True) / {depth} ** 0.5"
)
