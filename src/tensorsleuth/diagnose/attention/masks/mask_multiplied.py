"""Attention scores that are multiplied by a mask before the softmax: masked keys still get weight."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.finding import Basis
from tensorsleuth.diagnose.attention.masks.multiplied_masks import MultipliedMask, MultipliedMasks
from tensorsleuth.diagnose.attention.masks.padded_attention import PaddedAttention
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.inputs.token_samples import repeated_violations
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.trace.process.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    """Yield multiplied masks that hide anything: by themselves, or padding that has weight."""
    masks = process.cached(MultipliedMasks).by_name
    seen = process.cached(PaddedAttention).all if masks else ()
    padded = [over for over in seen if over.ops.name in masks and over.masks]
    open_ = {
        over.ops.name
        for over in padded
        if any(repeated_violations(over.steps, over.observed_mask.judge, ("mask-open",)))
    }
    wrong = [one for name, one in masks.items() if one.is_fixed or name in open_]
    yield from merge_same_line(_finding(process.cached(TrainingGraph), one) for one in wrong)


RULE = Rule(id="mask-multiplied", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _finding(training_graph: TrainingGraph, one: MultipliedMask) -> RuleFinding:
    layer = training_graph.layer(one.attention.softmax)
    why = (
        f"multiplies the scores of attention{f' ({layer})' if layer else ''} by a mask of zeros and ones: masked keys "
        "get score 0, not −∞, and the softmax gives them weight as it does to any other key. Nothing is masked"
    )
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_ADD,
        frame=training_graph.frame(one.product),
        op="Mul",
        about=(one.attention.name,),
    )


_ADD = "hide keys before the softmax: tf.where(mask, scores, -1e9), or scores + (1.0 - mask) * -1e9"
