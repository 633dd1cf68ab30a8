"""A loss that did not fall, or gradients that were not applied, in fewer steps than the rules on them need."""

from __future__ import annotations

import math
from collections.abc import Set

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.reductions import CROSS_ENTROPIES
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.training.loops import TrainingLoops
from tensorsleuth.diagnose.training.loss.chance_loss import FEWEST_STEPS as FEWEST_STEPS_AT_CHANCE
from tensorsleuth.diagnose.training.loss.chance_loss import losses_at_chance
from tensorsleuth.diagnose.training.loss.loss_rose import FEWEST_STEPS
from tensorsleuth.diagnose.training.optimizer import has_rivals, losses_of
from tensorsleuth.diagnose.training.weights.gradients_not_applied import FEWEST_STEPS as FEWEST_STEPS_TO_APPLY
from tensorsleuth.diagnose.training.weights.gradients_not_applied import is_never_applied
from tensorsleuth.trace.process.process import ProcessTrace

EXPLAIN_RISE = frozenset(["no-warmup"])
FEWEST_GUESSES = 32  # steps: before, most models are still near a guess
FEWEST_EQUAL, FEWEST_RISING = 4, 8  # losses; with fewer, the batches may explain it
ROUNDING = 8 * float(np.finfo(np.float32).eps)  # by which a loss may differ that does not move


def undecided_training(process: ProcessTrace, noted: Set[str] = frozenset()) -> str | None:
    """Return what training did, if that may be a bug and the steps are too few to tell; None if nothing is open.

    `noted` are the causes of notes: one of them may say already why the loss rises.
    """
    found = _unapplied_gradients(process) or (_undecided_loss(process) if EXPLAIN_RISE.isdisjoint(noted) else None)
    return found or _guesses(process)


def _unapplied_gradients(process: ProcessTrace) -> str | None:
    for loop in process.cached(TrainingLoops).all:
        if FEWEST_EQUAL <= len(loop) < FEWEST_STEPS_TO_APPLY and is_never_applied(process, loop):
            return (
                f"gradients of {pluralise(len(loop.variables), 'variable')} were computed in {len(loop)} steps and not "
                "applied, which may be meant: they may be gathered over more steps"
            )
    return None


def _guesses(process: ProcessTrace) -> str | None:
    """Return that a classifier guesses so far, in fewer steps than the rule on it needs."""
    for spot, classes, losses in losses_at_chance(process.cached(TrainingGraph), FEWEST_GUESSES):
        if spot.type in CROSS_ENTROPIES and len(losses) < FEWEST_STEPS_AT_CHANCE:
            chance = f"log({classes:,}) = {math.log(classes):.4g}, that of a guess among {classes:,} classes"
            return f"the loss stayed at {chance}, and {len(losses)} steps are too few to tell whether it learns"
    return None


def _undecided_loss(process: ProcessTrace) -> str | None:
    training = process.cached(TrainingGraph)
    losses = list(losses_of(training).values())
    if len(losses) != 1 or not FEWEST_EQUAL <= len(losses[0]) < FEWEST_STEPS:  # several are at odds, as in a GAN
        return None
    values = losses[0].astype(np.float64)
    if not np.isfinite(values).all() or values.min() < 0 or values.max() == 0:
        return None
    few = f"{len(values)} steps are too few to tell whether it learns"
    if _stays(values):
        return f"the loss did not move ({values[-1]:.6g} in every step) and {few}"
    if _rises(values) and not has_rivals(training):
        return f"the loss rose from {values[0]:.4g} to {values[-1]:.4g} and {few}"
    return None


def _stays(losses: Array) -> bool:
    return bool(np.ptp(losses) <= ROUNDING * abs(losses[0]))


def _rises(losses: Array) -> bool:
    """Return whether every loss of the second half lies above the mean of the first half, and above the first loss."""
    first, second = np.array_split(losses, 2)
    return len(losses) >= FEWEST_RISING and bool(second.min() > max(first.mean(), losses[0]))
