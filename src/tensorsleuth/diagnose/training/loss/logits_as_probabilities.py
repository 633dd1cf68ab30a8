"""Outputs without an activation that a loss takes for probabilities: it clips them, and their gradient is lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.loss.probabilities import Clipped, taken_for_probabilities
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

FEWEST_STEPS = 3  # in which they were outside: later they may have been pushed to where the clip lets them be
BELOW, ABOVE = -1e-3, 1.01  # rounding does not get there


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    told: set[Frame | None] = set()
    for one in taken_for_probabilities(training):
        rows = _rows(process, training, one)
        if _outside(rows, one.is_share).sum() >= FEWEST_STEPS:
            finding = _finding(training, one, rows)
            if finding.frame not in told:
                told.add(finding.frame)
                yield finding


RULE = Rule(
    id="logits-as-probabilities",
    severity=Severity.WRONG,
    find=find,
    supersedes=("frozen-weights", "learning-rate-too-high", "zero-gradients"),
)


def _rows(process: ProcessTrace, training: Training, one: Clipped) -> Array:
    """Return the clipped values by step; for compiled functions, the layer's outputs at the samples."""
    seen = training.rows((one.given, one.minimum))
    node = one.given.described
    looks = [layer.rows for layer in process.once(Inside).layers if node is not None and layer.op == node.name]
    found = [*(seen[spot] for spot in (one.given,) if spot in seen), *looks, *seen.values()]
    return next(iter(found), process.events[:0])


def _outside(rows: Array, is_share: bool) -> Array:
    """In which steps they were no probabilities; what is divided by its sum may be of any size, but of one sign."""
    outside: Array = (rows["min"] < BELOW) & (rows["max"] > 0 if is_share else True)
    return outside | ((rows["max"] > ABOVE) & (not is_share))


def _finding(training: Training, one: Clipped, rows: Array) -> RuleFinding:
    low, high, layer = float(np.min(rows["min"])), float(np.max(rows["max"])), training.layer(one.given)
    what = f" ({layer})" if layer else ""
    why = (
        f"computes a cross-entropy of outputs{what} as if they were probabilities, and they go from {low:.3g} to "
        f"{high:.3g}: the last layer has no softmax or sigmoid. They are clipped to 0 … 1 before the logarithm, and "
        "what is clipped has no gradient"
    )
    said = f"{low:.4g} … {high:.4g} in {len(rows):,} steps, expected 0 … 1"
    evidence = (piece("in", layer or one.given.type, said, training.frame(one.given)),)
    return RuleFinding(
        confidence=0.95,
        why=why,
        fix=_SAY,
        frame=training.frame(one.log),
        op=one.given.type,
        step=0,
        evidence=evidence,
    )


_SAY = (
    "from_logits=True in the loss (keras.losses.SparseCategoricalCrossentropy(from_logits=True); its name as a text "
    "means probabilities), or activation='softmax' ('sigmoid' for binary) in the last layer; one of them, not both"
)
