"""A softmax of attention scores over an axis other than the keys: the weights of a query do not sum to one."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Basis, Evidence
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, WeightedSum, find_attention
from tensorsleuth.diagnose.graph.shapes import ProcessShapes
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.trace.process.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    wrong = (one for one in find_attention(training) if not any(taking.sums_over_keys for taking in one.weighted_sums))
    yield from merge_same_line(_finding(training, one, training.frame(one.softmax)) for one in wrong)


RULE = Rule(id="softmax-axis", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _finding(training_graph: TrainingGraph, one: AttentionOps, frame: Frame | None) -> RuleFinding:
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
    return RuleFinding(
        confidence=0.93,
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
