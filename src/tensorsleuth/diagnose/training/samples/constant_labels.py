"""Labels that are the same number in every sample: whatever the input is, one answer is right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInput, BatchInputs
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_BATCHES, FEWEST_LABELS = 3, 32
MIN_LABELS_PER_BATCH = 2


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    labels = process.cached(BatchInputs).labels
    if len({one.root for one in labels}) == 1:  # networks that compete are each told one answer, as in a GAN
        constant = [one for one in labels if _is_constant(one)]
        told = [one for one in constant if all(_is_constant(other) for other in labels)]
        yield from merge_same_line(map(_finding, told[:1]))


RULE = Rule(
    id="constant-labels",
    severity=Severity.WRONG,
    find=find,
    about_samples=True,
    supersedes=("chance-loss", "predictions-collapsed", "flat-loss"),
)


def _is_constant(one: BatchInput) -> bool:
    numbers = one.numbers
    enough = len(numbers) >= FEWEST_BATCHES and int(numbers.elements.sum()) >= FEWEST_LABELS
    return (
        enough
        and int(numbers.elements.min()) >= MIN_LABELS_PER_BATCH
        and float(np.min(numbers.min)) == float(np.max(numbers.max))
    )


def _finding(one: BatchInput) -> RuleFinding:
    value, numbers = float(one.numbers.min[0]), one.numbers
    is_class = one.consumer.type in CROSS_ENTROPIES | {"Mul"}
    why = (
        f"compares predictions with labels that are all {value:.6g}: {int(numbers.elements.sum()):,} labels in "
        f"{len(numbers):,} sampled batches, and no other number. A model learns to answer that, whatever it is shown"
    )
    zero = value == 0 and not is_class  # the target of a residual, as of an equation
    return RuleFinding(
        confidence=0.6 if zero else 0.9,
        why=why,
        fix=_LOOK,
        frame=one.frame,
        op=one.consumer.type,
        severity=Severity.DOUBTFUL if zero else Severity.WRONG,
    )


_LOOK = (
    "print np.unique(labels) where they are loaded: look for a comparison that is never true, a column that was "
    "read as something else, integer division, and for data that are sorted by class and cut before they are shuffled"
)
