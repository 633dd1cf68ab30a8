"""Heads that are split or merged by a reshape alone, without a transpose: positions and heads are mixed."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.finding import Basis
from tensorsleuth.diagnose.attention.attention_graph import AttentionOps, find_attention
from tensorsleuth.diagnose.attention.heads.head_axes import HeadAxes, MixingReshape
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    found = ((one, mixed) for one in find_attention(training) for mixed in HeadAxes(training, one).mixing_reshapes())
    yield from merge_same_line(_finding(training, one, mixed, training.frame(mixed.reshape)) for one, mixed in found)


RULE = Rule(id="heads-mixed", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _finding(
    training_graph: TrainingGraph, one: AttentionOps, mixing_reshape: MixingReshape, frame: Frame | None
) -> RuleFinding:
    layer = training_graph.layer(one.softmax)
    named = f" ({layer})" if layer else ""
    before, after = list(mixing_reshape.before), list(mixing_reshape.after)
    if mixing_reshape.is_merge:
        does = f"merges the heads of attention{named} with a reshape alone, {before} to {after}"
        so = "each position gets pieces of other positions, later ones too, instead of its own heads"
    else:
        does = f"splits features into the heads of attention{named} by a reshape alone, {before} to {after}"
        so = "each head sees only some of the positions, and takes pieces of their features for positions"
    why = f"{does}: it keeps the order of the elements, so that {so}"
    evidence = text_evidence("in", "Reshape", f"{before} to {after}, no transpose on the way", frame)
    others = {
        line: None for one in mixing_reshape.also if (line := training_graph.frame(one)) is not None and line != frame
    }
    also = (text_evidence("also", "Reshape", "does the same", line) for line in others)
    fix = _MERGE if mixing_reshape.is_merge else _SPLIT
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=fix,
        frame=frame,
        op="Reshape",
        evidence=(evidence, *also),
        about=(one.name,),
    )


_MERGE = (
    "transpose first, so that a position's heads lie beside each other: tf.reshape(tf.transpose(x, (0, 2, 1, 3)), "
    "(batch, time, heads * depth))"
)
_SPLIT = (
    "split the features, then move the heads: tf.transpose(tf.reshape(x, (batch, time, heads, depth)), (0, 2, 1, 3))"
)
