"""A validation loss that rises again while the training loss falls on: what is learned from then on is memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import update_line
from tensorsleuth.diagnose.training.samples.loss_passes import LossPasses, loss_passes
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_PASSES, FEWEST_AFTER = 6, 3  # validations, and those after the best one
MIN_RISE, MIN_LARGE_RISE = 1.3, 2.0  # times the lowest validation loss, for a note and for a problem
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
    found = _overfit(passes) if passes is not None else None
    if passes is not None and found is not None:
        yield _finding(training, passes, found)


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
    return found if after >= FEWEST_AFTER and rises and falls else None


def _finding(training_graph: TrainingGraph, passes: LossPasses, found: Overfit) -> RuleFinding:
    unit = "epoch" if passes.are_epochs else "validation"
    worse = found.last > MIN_LARGE_RISE * found.lowest and found.last > passes.validation[0]
    why = (
        f"trains on after the model was best: the validation loss was lowest in {unit} {found.best} "
        f"({found.lowest:.4g}) "
        f"and ended at {found.last:.4g}, while the training loss fell from {found.trained_then:.4g} to "
        f"{found.trained_last:.4g}: since then it learns the training samples by heart"
    )
    if worse:
        why += f". The result is worse than after the first {unit} ({passes.validation[0]:.4g})"
    some = np.unique(np.linspace(0, len(passes.validation) - 1, MOST_SHOWN).astype(int))
    evidence = tuple(
        text_evidence("also", name, " → ".join(f"{values[at]:.3g}" for at in some))
        for name, values in (("validation loss", passes.validation), ("training loss", passes.training))
    )
    return RuleFinding(
        confidence=0.85,
        why=why,
        fix=_STOP,
        frame=passes.frame or update_line(training_graph),
        op="loss",
        step=passes.steps[found.best],
        evidence=evidence,
        severity=Severity.WRONG if worse and not passes.restores_weights else Severity.NOTE,
    )


_STOP = (
    "stop there and keep those weights: keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True); for a "
    "better "
    "model, more or augmented data, dropout, weight decay, or a smaller model"
)
