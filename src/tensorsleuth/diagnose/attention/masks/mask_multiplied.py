"""Attention scores that are multiplied by a mask before the softmax: what should be hidden is seen."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.finding import Basis
from tensorsleuth.diagnose.attention.masks.multiplied_masks import Multiplied, MultipliedMasks
from tensorsleuth.diagnose.attention.masks.padded_attention import PaddedAttention
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.inputs.token_samples import held
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, once_a_line
from tensorsleuth.trace.process.process import ProcessTrace


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    """Yield multiplied masks that hide anything: by themselves, or padding that has weight."""
    masks = process.once(MultipliedMasks).all
    seen = process.once(PaddedAttention).all if masks else ()
    padded = [over for over in seen if over.each.name in masks and over.masks]
    open_ = {over.each.name for over in padded if any(held(over.steps, over.seen.judged, ("mask-open",)))}
    wrong = [one for name, one in masks.items() if one.is_fixed or name in open_]
    yield from once_a_line(_finding(process.once(Training), one) for one in wrong)


RULE = Rule(id="mask-multiplied", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _finding(training: Training, one: Multiplied) -> RuleFinding:
    layer = training.layer(one.one.softmax)
    why = (
        f"multiplies the scores of attention{f' ({layer})' if layer else ''} by a mask of zeros and ones: masked keys "
        "get score 0, not −∞, and the softmax gives them weight as it does to any other key. Nothing is masked"
    )
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_ADD,
        frame=training.frame(one.product),
        op="Mul",
        about=(one.one.name,),
    )


_ADD = "hide keys before the softmax: tf.where(mask, scores, -1e9), or scores + (1.0 - mask) * -1e9"
