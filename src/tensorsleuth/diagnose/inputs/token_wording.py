"""A finding about tokens, masks or labels in the words of `sleuth why`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.violation import MAX_SHOWN_VALUES, Violation, format_value
from tensorsleuth.diagnose.inputs.token_samples import RepeatedViolation
from tensorsleuth.diagnose.rule import RuleFinding, Severity, text_evidence

CONFIDENCE = 0.9
EXPECTED_WORDS = {"loss-padding": "padding to weigh nothing in the loss"}
POSITION_NOUNS = {
    "mask": "token",
    "label": "label",
    "loss": "label",
}  # what the value at a position is, by how the rule begins
FIXES = {
    "mask-covers": "make the mask of the same ids that the model reads, after truncation: ids != the id of padding",
    "mask-inverted": "invert the mask: Keras takes 1, or True, where there is a token; what is added to scores is "
    "far below 0 where there is padding",
    "special-missing": "rows that were cut lost what the others begin with: cut their end (pad_sequences(…, "
    "truncating='post'): it cuts the beginning unless told otherwise), or add special tokens after cutting",
    "loss-padding": "weigh what is padding with 0: sample_weight, or tf.reduce_sum(losses * real) / "
    "tf.reduce_sum(real); Keras does it by itself with Embedding(mask_zero=True)",
}


def token_finding(
    found: RepeatedViolation, does: str, frame: Frame | None, op: str, sure: bool = True, change: str | None = None
) -> RuleFinding:
    """Return the finding; `does` continues "<line> …", `change` replaces the words of the rule if those do not fit."""
    one = found.violation
    why = f"{does}: {describe_violation(one)}{_sample_words(found)}"
    is_note = not sure or one.severity != "error"
    evidence = (text_evidence("in", one.name, describe_positions(one)),) if one.first else ()
    confidence = CONFIDENCE if not is_note else 0.6
    return RuleFinding(
        cause=one.rule,
        confidence=confidence,
        why=why,
        fix=change or fix_of(one),
        frame=frame,
        op=op,
        step=found.step,
        evidence=evidence,
        severity=Severity.DOUBTFUL if is_note else Severity.WRONG,
    )


def describe_violation(one: Violation) -> str:
    """`expected 0 where there is padding, found 12 of 40: padding with 1`; where first, the evidence has."""
    amount = f"{one.amount}: " if one.amount else ""
    return f"expected {EXPECTED_WORDS.get(one.rule, one.expected)}, found {amount}{one.found}"


def describe_positions(one: Violation) -> str:
    """`first in sample 0 at position 6 (token 0), 7 (token 0), …`; a row alone with what it holds."""
    pairs = list(zip(one.positions, one.values, strict=False))[:MAX_SHOWN_VALUES]
    if any(len(at) != 2 for at, _ in pairs):
        told = [f"sample {', '.join(map(str, at))} ({format_value(value)})" for at, value in pairs]
    else:
        samples = groupby(pairs, key=lambda pair: pair[0][0])
        told = [f"sample {sample} at position {_positions(one.rule, places)}" for sample, places in samples]
    more = (one.broken or 0) > len(pairs) or len(one.positions) > len(pairs)
    return f"first in {', '.join([*told, *(['…'] if more else [])])}"


def _positions(rule: str, places: Iterable[tuple[tuple[int, ...], Any]]) -> str:
    noun = next((noun for start, noun in POSITION_NOUNS.items() if rule.startswith(start)), "id")
    return ", ".join(f"{at[1]} ({noun} {format_value(value)})" for at, value in places)


def _sample_words(found: RepeatedViolation) -> str:
    """Return the number of sampled batches in words; empty for a single sample."""
    if found.total < 2:
        return ""
    return f", in {sampled_batches(found.samples, found.total)}"


def sampled_batches(found: int, total: int) -> str:
    """`all 6 sampled batches`, `2 of 6 sampled batches`."""
    return f"all {total} sampled batches" if found == total else f"{found} of {total} sampled batches"


def fix_of(one: Violation) -> str:
    """Return the fix, without what `check_batch` says about its own arguments."""
    text = FIXES.get(one.rule, one.change or "")
    return (text[:1].lower() + text[1:]).rstrip(".")
