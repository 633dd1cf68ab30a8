"""A loss that stays where it was because steps are too small to move any weight, while gradients say where to go."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.optimizer import Pace, losses_of, pace_of, rate_of, updated_at
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

FEWEST_STEPS, FEWEST_LOOKS = 200, 8
MOST_RATIO = 1e-7  # of the update to the weights, at every look: 10,000 such steps move them by a thousandth
MOST_MOVED = 1e-3  # of the loss, from one half of the steps to the other, or what chance moves it by
LEAST_TO_LEARN = 0.1  # gradient times weights, to the loss: with less, nothing is left to be learned
CHANCE = 3.0  # standard errors


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = pace_of(process.once(Inside))
    if pace is None or not _is_slow(pace):
        return
    training = process.once(Training)
    losses = [one for one in losses_of(training).values() if len(one) >= FEWEST_STEPS]
    stays = bool(losses) and all(_stays(one) and _has_to_learn(pace, one) for one in losses)
    if stays:
        yield _finding(training, pace, max(losses, key=lambda one: abs(float(one[0]))))


RULE = Rule(id="flat-loss", severity=Severity.WRONG, find=find, supersedes=("chance-loss",))


def _is_slow(pace: Pace) -> bool:
    return len(pace.steps) >= FEWEST_LOOKS and pace.is_finite and bool((pace.ratio < MOST_RATIO).all())


def _stays(losses: Array) -> bool:
    first, second = np.array_split(losses.astype(np.float64), 2)
    chance = CHANCE * float(np.hypot(first.std() / len(first) ** 0.5, second.std() / len(second) ** 0.5))
    return bool(abs(second.mean() - first.mean()) <= max(MOST_MOVED * abs(first.mean()), chance))


def _has_to_learn(pace: Pace, losses: Array) -> bool:
    """Would moving the weights by a part of their length lower the loss by as much as a tenth of that part."""
    return bool(np.median(pace.gradient * pace.weight) >= LEAST_TO_LEARN * abs(float(np.mean(losses))))


def _finding(training: Training, pace: Pace, losses: Array) -> RuleFinding:
    first, second = (float(np.mean(half)) for half in np.array_split(losses, 2))
    rate, ratio = rate_of(training), float(np.max(pace.ratio))
    why = (
        f"trains {len(losses):,} steps and the loss does not change: {first:.4g} in the first half of them and "
        f"{second:.4g} in the second. Gradients are not zero, but a step moves the weights by {ratio:.1g} of their "
        f"length{f', at a learning rate of {rate:.2g}' if rate is not None else ''}, which is too small to learn"
    )
    said = f"gradients {np.median(pace.gradient):.3g}, weights {np.median(pace.weight):.3g}, update {ratio:.1g} of them"
    evidence = (piece("also", f"{len(pace.steps)} samples", said),)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_LARGER,
        frame=updated_at(training),
        op="update",
        step=0,
        evidence=evidence,
    )


_LARGER = (
    "a larger learning rate: 1e-3 for Adam and 1e-2 for SGD are where to begin, and a step should move weights by "
    "about a thousandth; look for a rate that is divided twice, a schedule that decays too early"
)
