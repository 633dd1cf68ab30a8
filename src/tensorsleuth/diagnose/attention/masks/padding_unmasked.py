"""Attention to padding with no mask at all: worth a note, and wrong where other attention of the model masks it."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.diagnose.attention.attention_graph import line_of
from tensorsleuth.diagnose.attention.masks.padded_attention import Over, PaddedAttention
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.inputs.token_samples import Held, held
from tensorsleuth.diagnose.inputs.token_wording import sampled
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, once_a_line, piece
from tensorsleuth.trace.process.process import ProcessTrace

LEAST = 0.01  # of the weight of tokens, on average


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    yield from once_a_line(_found(process))


RULE = Rule(id="padding-unmasked", severity=Severity.WRONG, find=find)


def _found(process: ProcessTrace) -> Iterator[RuleFinding]:
    every = process.once(PaddedAttention).all
    for over in every:
        open_ = list(held(over.steps, over.seen.judged, ("mask-open",))) if not over.masks else []
        share = over.seen.on_padding()
        if open_ and share is not None and share >= LEAST:
            beside = [one for one in every if _masks(one, over)]
            yield _finding(process.once(Training), over, open_[0], share, beside)


def _masks(other: Over, over: Over) -> bool:
    """Does another attention mask the same padding."""
    return other.ids.series.name == over.ids.series.name and other.is_closed


def _finding(training: Training, over: Over, found: Held, share: float, others: list[Over]) -> RuleFinding:
    layer = training.layer(over.each.softmax)
    beside = training.layer(others[0].each.softmax) or "another" if others else ""
    why = (
        f"computes attention{f' ({layer})' if layer else ''} over {over.ids.name} without a mask: tokens give "
        f"{100 * share:.0f} % of their weight to padding (id {over.ids.padding}), in "
        f"{sampled(found.looks, found.total)}" + (f", while {beside} masks the same padding" if others else "")
    )
    evidence = tuple(piece("also", one.attention.name, "padding has no weight") for one in others[:4])
    confidence, about = 0.9 if others else 0.6, (over.each.name,)
    return RuleFinding(
        confidence=confidence,
        why=why,
        fix=_MASK,
        frame=line_of(training, over.attention),
        op="Softmax",
        step=found.step,
        evidence=evidence,
        about=about,
        severity=Severity.WRONG if others else Severity.NOTE,
    )


_MASK = (
    "pass the mask of the text that the keys are: attention_mask=(ids != 0)[:, tf.newaxis, :] in MultiHeadAttention, "
    "or add -1e9 to the scores of keys that are padding; that of Embedding(mask_zero=True) does not get through every "
    "layer of Keras"
)
