"""A softmax of attention scores over an axis other than the keys: the weights of a query do not sum to one."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Basis, Evidence
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, WeightedSum, find_attention
from tensorsleuth.diagnose.attention.heads.competition import (
    attends_to_samples,
    competes_on_purpose,
    has_chosen_axis,
    is_self_attention,
    values_of,
)
from tensorsleuth.diagnose.graph.shapes import ProcessShapes
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.trace.process.process import ProcessTrace

SURE, UNSURE = 0.93, 0.5  # of a slip; the lower one where the queries are no samples


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    wrong = (one for one in find_attention(training) if _sums_other_axis(training, one))
    judged = ((one, _certainty(training, one)) for one in wrong)
    yield from merge_same_line(
        _finding(training, one, training.frame(one.softmax), confidence)
        for one, confidence in judged
        if confidence is not None
    )


RULE = Rule(id="softmax-axis", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _sums_other_axis(training_graph: TrainingGraph, one: AttentionOps) -> bool:
    """Return whether all sums of values, and there is one, run along another axis; a product of two weights is none."""
    of_weights = (any(value.type == "Softmax" for value in values_of(training_graph, it)) for it in one.weighted_sums)
    return not any(of_weights) and not any(taking.sums_over_keys for taking in one.weighted_sums)


def _certainty(training_graph: TrainingGraph, one: AttentionOps) -> float | None:
    """Return how sure it is that the axis is a slip; None if outputs may well compete for inputs on purpose."""
    if competes_on_purpose(training_graph, one):
        return None
    if is_self_attention(training_graph, one):
        return SURE
    if not has_chosen_axis(one):
        return None
    return SURE if attends_to_samples(training_graph, one) else UNSURE


def _finding(training_graph: TrainingGraph, one: AttentionOps, frame: Frame | None, confidence: float) -> RuleFinding:
    layer, taking = training_graph.layer(one.softmax), one.weighted_sums[0]
    site = training_graph.neighbours.site(taking.op_node)
    line = f" in line {site.frame.line}" if site is not None and site.frame is not None else ""
    rank = _rank(training_graph, one)
    along, summed = _axis(taking, taking.softmax_axis, rank), _axis(taking, taking.summed_axis, rank)
    why = (
        f"takes the softmax of attention scores{f' ({layer})' if layer else ''} along {along}, "
        f"and the product{line} sums the weights along {summed}: a query's weights do not "
        "sum to one, keys do not compete, and the output grows with the number of keys"
    )
    if confidence < SURE:
        why += ". The queries are weights, which may compete for the keys on purpose, as slots do"
    return RuleFinding(
        confidence=confidence,
        severity=None if confidence == SURE else Severity.DOUBTFUL,
        why=why,
        fix=_KEYS,
        frame=frame,
        op="Softmax",
        evidence=tuple(_evidence(training_graph, one)),
        about=(one.name,),
    )


def _rank(training_graph: TrainingGraph, one: AttentionOps) -> int:
    """Return the rank of the weights; 0 if it is not known."""
    return len(
        training_graph.process.cached(ProcessShapes).around_op(one.softmax).shape_of(one.softmax.node_index) or ()
    )


def _axis(weighted_sum: WeightedSum, axis: int, rank: int) -> str:
    """`axis 2 (queries)`"""
    others = "heads" if rank + axis > 0 else "batch"
    what = "keys" if axis == weighted_sum.summed_axis else "queries" if axis == weighted_sum.query_axis else others
    return f"axis {axis + rank if rank else axis} ({what})"


def _evidence(training_graph: TrainingGraph, one: AttentionOps) -> Iterator[Evidence]:
    spots = {"in": one.scores, "out": one.weighted_sums[0].op_node}
    rows = training_graph.output_rows(spots.values())
    for role, spot in spots.items():
        shape = training_graph.process.shape_of(rows[spot][0]) if spot in rows else None
        site = training_graph.neighbours.site(spot)
        line = f"{site.frame.file}:{site.frame.line}" if site is not None and site.frame is not None else None
        yield Evidence(role, spot.type, spot.type, "", shape, "", line)


_KEYS = (
    "take the softmax along the axis of the keys, which the product with the values sums over: the last one of "
    "[batch, heads, queries, keys], axis=-1"
)
