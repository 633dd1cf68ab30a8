"""A loss that stays constant because updates are too small to move any weight, while gradients are not zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loops import TrainingLoop, TrainingLoops
from tensorsleuth.diagnose.training.optimizer import (
    UpdateNorms,
    last_learning_rate,
    losses_of,
    update_line,
    update_norms,
)
from tensorsleuth.diagnose.training.weight_changes import MAX_CHANGE, weights_keep_range
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_STEPS, FEWEST_SAMPLES = 16, 5
MAX_RISE = 4.0  # times the largest update of the first half of the samples: a warm-up goes on
MAX_UPDATE_RATIO = 1e-7  # of the update to the weights, at every look: 10,000 such steps move them by a thousandth
MAX_LOSS_CHANGE = 1e-3  # of the loss, from one half of the steps to the other, or what chance moves it by
LEAST_TO_LEARN = 0.1  # gradient times weights, to the loss: with less, nothing is left to be learned
MAX_STANDARD_ERRORS = 3.0  # standard errors


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = update_norms(process.cached(LayerStatistics))
    if pace is None:
        yield from _in_sessions(process)
        return
    if not _is_slow(pace):
        return
    training = process.cached(TrainingGraph)
    losses = [one for one in losses_of(training).values() if len(one) >= FEWEST_STEPS]
    stays = bool(losses) and all(is_flat(one) and has_to_learn(pace, one) for one in losses)
    if stays and weights_keep_range(process) is not False:
        yield _finding(training, pace, max(losses, key=lambda one: abs(float(one[0]))))


def _in_sessions(process: ProcessTrace) -> Iterator[RuleFinding]:
    """Judge by the weights that each run reads, for sessions have no samples of updates."""
    loops = process.cached(TrainingLoops)
    if loops.all and weights_keep_range(process):
        for loop in loops.all:
            random = any(loops.written.starts_at_random(handle) for handle in loop.variables)
            if random and len(loop.losses) >= FEWEST_STEPS and is_flat(loop.losses):
                yield _session_finding(loops.training, loop)


RULE = Rule(
    id="flat-loss",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "chance-loss", "predictions-collapsed"),
)


def _is_slow(update_norms: UpdateNorms) -> bool:
    first, second = np.array_split(update_norms.update_ratio, 2)
    return (
        len(update_norms.steps) >= FEWEST_SAMPLES
        and update_norms.is_finite
        and bool((update_norms.update_ratio < MAX_UPDATE_RATIO).all())
        and bool(second.max() <= MAX_RISE * first.max())
    )


def is_flat(losses: Array) -> bool:
    """Return whether the loss stays where it is; a loss of exactly 0 has nothing left to learn."""
    if not losses.any():
        return False
    first, second = np.array_split(losses.astype(np.float64), 2)
    chance = MAX_STANDARD_ERRORS * float(np.hypot(first.std() / len(first) ** 0.5, second.std() / len(second) ** 0.5))
    return bool(abs(second.mean() - first.mean()) <= max(MAX_LOSS_CHANGE * abs(first.mean()), chance))


def has_to_learn(update_norms: UpdateNorms, losses: Array) -> bool:
    """Return whether moving the weights by a part of their norm would lower the loss by a tenth of that part."""
    return bool(np.median(update_norms.gradient * update_norms.weight) >= LEAST_TO_LEARN * abs(float(np.mean(losses))))


def _finding(training_graph: TrainingGraph, update_norms: UpdateNorms, losses: Array) -> RuleFinding:
    first, second = (float(np.mean(half)) for half in np.array_split(losses, 2))
    rate, ratio = last_learning_rate(training_graph), float(np.max(update_norms.update_ratio))
    why = (
        f"trains {len(losses):,} steps and the loss does not change: {first:.4g} in the first half of them and "
        f"{second:.4g} in the second. Gradients are not zero, but a step moves the weights by {ratio:.1g} of their "
        f"length{f', at a learning rate of {rate:.2g}' if rate is not None else ''}, which is too small to learn"
    )
    said = (
        f"gradients {np.median(update_norms.gradient):.3g}, weights {np.median(update_norms.weight):.3g}, "
        f"update {ratio:.1g} of them"
    )
    evidence = (text_evidence("also", f"{len(update_norms.steps)} samples", said),)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_LARGER,
        frame=update_line(training_graph),
        op="update",
        step=0,
        evidence=evidence,
    )


def _session_finding(training_graph: TrainingGraph, loop: TrainingLoop) -> RuleFinding:
    first, second = (float(np.mean(half)) for half in np.array_split(loop.losses, 2))
    why = (
        f"trains {len(loop.losses):,} steps and the loss does not change: {first:.4g} in the first half of them and "
        f"{second:.4g} in the second. No weight moves by more than {MAX_CHANGE:.0g} of the largest in all of them, "
        "which is too little to learn"
    )
    return RuleFinding(
        confidence=0.85, why=why, fix=_LARGER, frame=update_line(training_graph) or loop.line, op="update", step=0
    )


_LARGER = (
    "a larger learning rate: 1e-3 for Adam and 1e-2 for SGD are where to begin, and a step should move weights by "
    "about a thousandth; look for a rate that is divided twice, a schedule that decays too early"
)
