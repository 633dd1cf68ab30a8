"""Gradients of weights that are computed in every step, and that nothing ever writes to the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loops import TrainingLoop, TrainingLoops
from tensorsleuth.diagnose.training.weight_reads import WeightReads
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 8  # gradients may be gathered over some
MOST_SHOWN = 4


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    loops = process.cached(TrainingLoops)
    for loop in loops.all:
        if len(loop) >= FEWEST_STEPS and is_never_applied(process, loop):
            yield _finding(loops, loop)


RULE = Rule(
    id="gradients-not-applied",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "step-length",
        "zero-gradients",
        "flat-loss",
        "frozen-weights",
        "chance-loss",
        "predictions-collapsed",
        "loss-rose",
    ),
)


def is_never_applied(process: ProcessTrace, loop: TrainingLoop) -> bool:
    """Return whether nothing was written to any weight since the first gradients, and none was read as another."""
    loops, reads, first = process.cached(TrainingLoops), process.cached(WeightReads), int(loop.calls[0])
    if any(loops.is_written_after(handle, first) for handle in loop.variables):
        return False
    seen = [handle for handle in loop.variables if reads.of(handle) is not None]
    return bool(seen) and all(reads.stays(handle) for handle in seen)


def _is_meant_to_train(loops: TrainingLoops, loop: TrainingLoop) -> bool:
    """Return whether the weights are random, and there is an optimizer or data that change from step to step."""
    first = int(loop.calls[0])
    random = any(
        loops.writes_before(handle, first) <= 1 and loops.written.starts_at_random(handle) for handle in loop.variables
    )
    return random and (loops.has_optimizer or len(np.unique(loop.losses)) > 1)


def _finding(loops: TrainingLoops, loop: TrainingLoop) -> RuleFinding:
    variables = loops.training.variables
    names = [variables.name(handle) for handle in sorted(loop.variables)]
    why = (
        f"computes gradients of {pluralise(len(names), 'variable')} in {len(loop):,} steps, and nothing writes "
        f"{'them' if len(names) > 1 else 'it'}: the gradients are not applied, and the model is as it was at the start"
    )
    evidence = tuple(text_evidence("also", name, "never written since the first step") for name in names[:MOST_SHOWN])
    return RuleFinding(
        confidence=0.9 if _is_meant_to_train(loops, loop) else 0.5,
        why=why,
        fix=_APPLY,
        frame=loop.line,
        op=loop.op,
        evidence=evidence,
        step=0,
        severity=None if _is_meant_to_train(loops, loop) else Severity.DOUBTFUL,
    )


_APPLY = (
    "apply them: optimizer.apply_gradients(zip(gradients, variables)), or run the op that minimize returns in a "
    "session; a zip can be gone through once only. If the gradients themselves are wanted, nothing is wrong"
)
