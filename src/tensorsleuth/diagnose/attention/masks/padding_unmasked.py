"""Attention to padding without a mask: a note, or an error if other attention of the model masks it."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.diagnose.attention.attention_graph import attention_line
from tensorsleuth.diagnose.attention.masks.padded_attention import AttentionOverPadding, PaddedAttention
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.inputs.token_samples import RepeatedViolation, repeated_violations
from tensorsleuth.diagnose.inputs.token_wording import sampled_batches
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

MIN_PADDING_WEIGHT = 0.01  # of the weight of tokens, on average


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    yield from merge_same_line(_found(process))


RULE = Rule(id="padding-unmasked", severity=Severity.WRONG, find=find)


def _found(process: ProcessTrace) -> Iterator[RuleFinding]:
    every = process.cached(PaddedAttention).all
    for over in every:
        open_ = (
            list(repeated_violations(over.steps, over.observed_mask.judge, ("mask-open",))) if not over.masks else []
        )
        share = over.observed_mask.weight_on_padding()
        if open_ and share is not None and share >= MIN_PADDING_WEIGHT:
            beside = [one for one in every if _masks(one, over)]
            yield _finding(process.cached(TrainingGraph), over, open_[0], share, beside)


def _masks(other: AttentionOverPadding, attention_over_padding: AttentionOverPadding) -> bool:
    """Return whether another attention masks the same padding."""
    return other.ids.series.name == attention_over_padding.ids.series.name and other.hides_padding


def _finding(
    training_graph: TrainingGraph,
    attention_over_padding: AttentionOverPadding,
    found: RepeatedViolation,
    share: float,
    others: list[AttentionOverPadding],
) -> RuleFinding:
    layer = training_graph.layer(attention_over_padding.ops.softmax)
    beside = training_graph.layer(others[0].ops.softmax) or "another" if others else ""
    why = (
        f"computes attention{f' ({layer})' if layer else ''} over {attention_over_padding.ids.name} without a "
        "mask: tokens give "
        f"{100 * share:.0f} % of their weight to padding (id {attention_over_padding.ids.padding_id}), in "
        f"{sampled_batches(found.samples, found.total)}"
        + (f", while {beside} masks the same padding" if others else "")
    )
    evidence = tuple(text_evidence("also", one.attention.name, "padding has no weight") for one in others[:4])
    confidence, about = 0.9 if others else 0.6, (attention_over_padding.ops.name,)
    return RuleFinding(
        confidence=confidence,
        why=why,
        fix=_MASK,
        frame=attention_line(training_graph, attention_over_padding.attention),
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
