"""Findings of rules that follow from a bad value: they are told as its effects, and not beside it."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import replace

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.ops.functions import CALLING_OPS
from tensorsleuth.diagnose.nan.path import WRITTEN

LOSS_SCALE_COLLAPSE = "loss-scale-collapse"
UNEXPLAINED = "origin"  # the cause of a bad value without a story
MENDED_BY_SCALE = (UNEXPLAINED, "half-overflow", "sum-overflow", "product-overflow", "loss-scale")  # causes, or unknown
LIKELY = 0.8  # the confidence that a bad value is what a loss scale skipped


def fold_effects(
    bad_values: list[Finding], counted: list[Finding], symptoms: Container[str]
) -> tuple[list[Finding], list[Finding]]:
    """Return both lists of one process without what the first bad value explains, which tells it as its effects.

    `symptoms` are the causes that a NaN or an infinity has by itself, among those that rules counted over steps.
    """
    root = next((one for one in bad_values if _spoils_weights(one)), None)
    if root is None or root.step is None:
        return bad_values, counted
    later = [one for one in counted if one.cause in symptoms and one.step is not None and one.step > root.step]
    effects = tuple(dict.fromkeys(map(effect_words, later)))
    told = [replace(one, effects=effects) if one is root else one for one in bad_values]
    return told, [one for one in counted if one not in later]


def explain_collapse(bad_values: list[Finding], counted: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return both lists with the bad value first that a loss scale skips, if the scale collapses because of it.

    A step whose gradients are not finite is thrown away, so such a value does no harm by itself. Gradients that are too
    large while the scale is, are what the scale is for.
    """
    collapse = next((one for one in counted if one.cause == LOSS_SCALE_COLLAPSE), None)
    masked = (one for one in bad_values if one.severity == "masked" and one.cause not in MENDED_BY_SCALE)
    skipped = next(masked, None)
    if collapse is None or skipped is None:
        return bad_values, counted
    confidence = min(skipped.confidence, LIKELY)
    told = replace(skipped, severity="error", confidence=confidence, effects=(effect_words(collapse),))
    return (
        [told, *(one for one in bad_values if one is not skipped)],
        [one for one in counted if one is not collapse],
    )


def look_inside(bad_values: list[Finding]) -> list[Finding]:
    """Return the findings with an op that is explained in front of calls of functions that went bad inside.

    XLA compiles what is in a loop over a dataset, and no op of it has a row. Another run of the same line may have.
    """
    outside = [one for one in bad_values if one.severity == "error"]
    explained = [one for one in bad_values if one.severity == "masked" and one.cause != UNEXPLAINED]
    if not outside or outside[0].op not in CALLING_OPS or not explained:
        return bad_values
    if any(one.cause != UNEXPLAINED for one in outside):
        return bad_values
    told = replace(explained[0], severity="error", confidence=min(explained[0].confidence, LIKELY))
    return [told, *(one for one in bad_values if one is not explained[0] and one not in outside)]


def _spoils_weights(finding: Finding) -> bool:
    """Return whether the bad value was written to a variable of the model, not to one of a metric."""
    written = finding.severity == "error" and bool(finding.chain) and finding.chain[-1].startswith(WRITTEN)
    return written and not (finding.layer or "").startswith("metric ")


def effect_words(finding: Finding) -> str:
    """`since step 2, train.py:14 puts out nothing but zeros in each of the last 30 of 32 steps (conv_a)`"""
    said = finding.summary.split(": ")[0].removesuffix(".")
    said = said.replace(finding.file, os.path.basename(finding.file)) if finding.file else said
    return f"since step {finding.step}, {said}"
