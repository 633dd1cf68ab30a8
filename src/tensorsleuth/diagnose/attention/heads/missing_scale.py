"""Attention scores that are not divided by the root of the depth: one key gets all weight before any training."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.ops.elementwise import SCALINGS
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, find_attention, is_scaled
from tensorsleuth.diagnose.attention.heads.score_scale import ScoreScale
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import describe_health
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_KEYS, LEAST_DEPTH = 8, 16
MOST_ENTROPY = 0.5  # of what all keys alike would have, at the first look
MOST_ENTROPY_ALONE = 0.35  # where it is not known how far scores are apart: compiled by XLA
LEAST_RANGE = 20.0  # from the smallest score to the largest, then
FIRST_STEP = 2  # later ones may have been learned


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    seen = {one.op: one for one in process.cached(LayerStatistics).attention}
    plain = (one for one in find_attention(training) if not one.types_between & SCALINGS) if seen else ()
    judged = (_judge(training, one, seen.get(one.name)) for one in plain)
    yield from merge_same_line(finding for finding in judged if finding is not None)


RULE = Rule(id="missing-scale", severity=Severity.WRONG, find=find)


def _judge(training_graph: TrainingGraph, one: AttentionOps, seen: AttentionSeries | None) -> RuleFinding | None:
    if seen is None or not len(seen) or seen.steps[0] > FIRST_STEP or is_scaled(training_graph, one.scores):
        return None
    entropy = [float(value) for value in seen.statistics(0).get("entropy", ())]
    depth = ScoreScale(training_graph, one).depth or 0
    if not entropy or depth < LEAST_DEPTH or seen.columns < FEWEST_KEYS:
        return None
    mean, rows = sum(entropy) / len(entropy), training_graph.output_rows((one.scores,)).get(one.scores)
    if rows is None:  # compiled by XLA
        return _finding(training_graph, one, depth, (None, mean), ()) if mean <= MOST_ENTROPY_ALONE else None
    spread = float(rows[0]["max"] - rows[0]["min"])
    if mean > MOST_ENTROPY or spread < LEAST_RANGE or spread / math.sqrt(depth) > LEAST_RANGE:
        return None
    shape = training_graph.process.shape_of(rows[0])
    evidence = Evidence("in", one.scores.type, one.scores.type, "", shape, describe_health(rows[0]))
    return _finding(training_graph, one, depth, (spread, mean), (evidence,))


def _finding(
    training_graph: TrainingGraph,
    one: AttentionOps,
    depth: int,
    found: tuple[float | None, float],
    evidence: tuple[Evidence, ...],
) -> RuleFinding:
    layer, (spread, entropy) = training_graph.layer(one.softmax), found
    span = f"they span {spread:.3g} in the first step, so that" if spread is not None else "in the first step"
    why = (
        f"computes attention scores{f' ({layer})' if layer else ''} that nothing divides by √{depth}: {span} "
        f"nearly all weight of a query is on one key before anything was "
        f"learned (entropy {100 * entropy:.0f} % of an even share), and its gradient is nearly zero"
    )
    return RuleFinding(
        confidence=0.88,
        why=why,
        fix=_DIVIDE.format(depth=depth),
        frame=training_graph.frame(one.scores),
        op=one.scores.type,
        step=0,
        evidence=evidence,
        about=(one.name,),
    )


_DIVIDE = (
    "divide the scores, or the queries, by the root of the depth of a head: tf.matmul(q, k, transpose_b=True) / "
    "{depth} ** 0.5"
)
