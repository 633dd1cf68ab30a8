"""A loss that stays constant because updates are too small to move any weight, while gradients are not zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import (
    UpdateNorms,
    last_learning_rate,
    losses_of,
    update_line,
    update_norms,
)
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_STEPS, FEWEST_SAMPLES = 200, 8
MAX_UPDATE_RATIO = 1e-7  # of the update to the weights, at every look: 10,000 such steps move them by a thousandth
MAX_LOSS_CHANGE = 1e-3  # of the loss, from one half of the steps to the other, or what chance moves it by
LEAST_TO_LEARN = 0.1  # gradient times weights, to the loss: with less, nothing is left to be learned
MAX_STANDARD_ERRORS = 3.0  # standard errors


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = update_norms(process.cached(LayerStatistics))
    if pace is None or not _is_slow(pace):
        return
    training = process.cached(TrainingGraph)
    losses = [one for one in losses_of(training).values() if len(one) >= FEWEST_STEPS]
    stays = bool(losses) and all(_is_flat(one) and _has_to_learn(pace, one) for one in losses)
    if stays:
        yield _finding(training, pace, max(losses, key=lambda one: abs(float(one[0]))))


RULE = Rule(id="flat-loss", severity=Severity.WRONG, find=find, supersedes=("chance-loss",))


def _is_slow(update_norms: UpdateNorms) -> bool:
    return (
        len(update_norms.steps) >= FEWEST_SAMPLES
        and update_norms.is_finite
        and bool((update_norms.update_ratio < MAX_UPDATE_RATIO).all())
    )


def _is_flat(losses: Array) -> bool:
    first, second = np.array_split(losses.astype(np.float64), 2)
    chance = MAX_STANDARD_ERRORS * float(np.hypot(first.std() / len(first) ** 0.5, second.std() / len(second) ** 0.5))
    return bool(abs(second.mean() - first.mean()) <= max(MAX_LOSS_CHANGE * abs(first.mean()), chance))


def _has_to_learn(update_norms: UpdateNorms, losses: Array) -> bool:
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


_LARGER = (
    "a larger learning rate: 1e-3 for Adam and 1e-2 for SGD are where to begin, and a step should move weights by "
    "about a thousandth; look for a rate that is divided twice, a schedule that decays too early"
)
