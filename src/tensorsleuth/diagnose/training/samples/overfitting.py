"""A validation loss that rises again while the training loss falls on: what is learned from then on is memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import update_line
from tensorsleuth.diagnose.training.samples.kept_weights import keeps_best_weights
from tensorsleuth.diagnose.training.samples.loss_passes import LossPasses, loss_passes
from tensorsleuth.diagnose.training.updates.moving_averages_still import MOVING
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_PASSES, FEWEST_AFTER = 6, 3  # validations, and those after the best one
MIN_RISE, MIN_LARGE_RISE = 1.3, 2.0  # times the lowest validation loss, for a note and for a problem
LAGGING_STEPS = 300  # in which a moving average of momentum 0.99 forgets 95 % of its first value
MAX_TRAINING_SHARE = 0.9  # of the training loss at the best validation, that is left at the end
MIN_NOISE = 3.0  # times what validation losses vary by, from one to the next
LAST_PASSES = 3
MOST_SHOWN = 8


@dataclass(frozen=True)
class Overfit:
    """The best validation, and the losses there and at the end."""

    best: int
    lowest: float
    last: float
    trained_then: float
    trained_last: float


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    passes = loss_passes(training)
    found = _overfit(passes) if passes is not None and not passes.restores_weights else None
    frame = (passes.frame if passes is not None else None) or update_line(training)
    if passes is not None and found is not None and not keeps_best_weights(process, frame):
        yield _finding(training, passes, found, frame)


RULE = Rule(id="overfitting", severity=Severity.NOTE, find=find)


def _overfit(passes: LossPasses) -> Overfit | None:
    validation, trained = passes.validation, passes.training
    if len(validation) < FEWEST_PASSES or not np.isfinite([*validation, *trained]).all() or min(validation) <= 0:
        return None
    best = int(np.argmin(validation))
    after = len(validation) - 1 - best
    last = float(np.median(validation[-LAST_PASSES:]))
    found = Overfit(best, float(validation[best]), last, float(trained[best]), float(np.median(trained[-LAST_PASSES:])))
    noise = float(np.median(np.abs(np.diff(validation))))
    rises = last > MIN_RISE * found.lowest and last - found.lowest > MIN_NOISE * noise
    falls = found.trained_last < MAX_TRAINING_SHARE * found.trained_then
    at_last = validation[-1] > found.lowest and trained[-1] < found.trained_then  # what the finding shows
    return found if after >= FEWEST_AFTER and rises and falls and at_last else None


def _finding(training_graph: TrainingGraph, passes: LossPasses, found: Overfit, frame: Frame | None) -> RuleFinding:
    unit = "epoch" if passes.are_epochs else "validation"
    worse = found.last > MIN_LARGE_RISE * found.lowest and found.last > passes.validation[0]
    lags, final = _averages_lag(training_graph, passes), len(passes.validation) - 1
    why = (
        f"trains on after the model was best: from {unit} {found.best} to {unit} {final}, the last, the validation "
        f"loss rose from {found.lowest:.4g}, its lowest, to {passes.validation[-1]:.4g}, while the training loss fell "
        f"from {passes.training[found.best]:.4g} to {passes.training[-1]:.4g}: {_LAG if lags else _MEMORY}"
    )
    if worse and not lags:
        why += f". The result is worse than after {unit} 0, the first ({passes.validation[0]:.4g})"
    some = np.unique(np.linspace(0, len(passes.validation) - 1, MOST_SHOWN).astype(int))
    evidence = tuple(
        text_evidence("also", name, " → ".join(f"{values[at]:.3g}" for at in some))
        for name, values in (("validation loss", passes.validation), ("training loss", passes.training))
    )
    return RuleFinding(
        confidence=0.6 if lags else 0.85,
        why=why,
        fix=_STEPS if lags else _STOP,
        frame=frame,
        op="loss",
        step=passes.steps[found.best],
        evidence=evidence,
        severity=Severity.WRONG if worse and not lags else Severity.NOTE,
    )


def _averages_lag(training_graph: TrainingGraph, passes: LossPasses) -> bool:
    """Return whether layers that normalise by the batch may not have its averages yet, which validation reads."""
    names = (training_graph.variables.name(handle) for handle in WrittenVariables(training_graph).by_functions)
    return (passes.steps[-1] or 0) < LAGGING_STEPS and any(name.rpartition("/")[2] in MOVING for name in names)


_MEMORY = "since then it learns the training samples by heart"
_LAG = (
    "it learns the training samples by heart, or the moving averages of its batch normalisation, which validation "
    "uses, do not follow the weights yet in so few steps"
)
_STEPS = (
    "train for more steps, or give BatchNormalization a lower momentum (0.9), and look whether the validation loss "
    "still rises; if it does: keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)"
)
_STOP = (
    "stop there and keep those weights: keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True); for a "
    "better "
    "model, more or augmented data, dropout, weight decay, or a smaller model"
)
