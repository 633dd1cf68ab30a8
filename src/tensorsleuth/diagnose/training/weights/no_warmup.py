"""A Transformer that Adam trains at the full learning rate from the first step, and whose loss rises."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import (
    UpdateNorms,
    losses_of,
    optimizer_line,
    update_norms,
    variable_values,
)
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FIRST_SAMPLES, FIRST_STEPS, FEWEST_STEPS = 3, 100, 20
MIN_UPDATE_RATIO = 0.1  # of the update to the weights, at each of the first looks: a thousandth is usual
MIN_RISE = 1.5  # times the loss of the first step, in half of the first steps
_ADAM_SQUARES = re.compile(r"_velocity$|(^|/)v/")  # what Adam keeps of each weight, in Keras 3 and in Keras 2


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    pace = update_norms(inside) if inside.attention else None
    if pace is None or not _moves_too_far(pace):
        return
    training = process.cached(TrainingGraph)
    losses = next((one for one in losses_of(training).values() if _rises(one)), None)
    constant = _is_constant(variable_values(training, "learning_rate"))
    if losses is not None and _is_adam(training) and constant:
        yield _finding(training, pace, losses)


RULE = Rule(id="no-warmup", severity=Severity.NOTE, find=find, supersedes=("loss-rose",))


def _moves_too_far(update_norms: UpdateNorms) -> bool:
    first = update_norms.update_ratio[:FIRST_SAMPLES]
    return len(first) == FIRST_SAMPLES and int(update_norms.steps[0]) == 0 and bool((first > MIN_UPDATE_RATIO).all())


def _rises(losses: Array) -> bool:
    first = losses[1:FIRST_STEPS]
    begun = len(first) >= FEWEST_STEPS and bool(np.isfinite(losses).all()) and losses[0] > 0
    return begun and float(np.median(first)) > MIN_RISE * float(losses[0])


def _is_adam(training_graph: TrainingGraph) -> bool:
    return any(_ADAM_SQUARES.search(name) for name in training_graph.variables.names.values())


def _is_constant(rates: Array) -> bool:
    first = rates[:FIRST_STEPS]
    return len(first) > 0 and float(first.min()) == float(first.max())


def _finding(training_graph: TrainingGraph, update_norms: UpdateNorms, losses: Array) -> RuleFinding:
    rate, typical = float(variable_values(training_graph, "learning_rate")[0]), float(np.median(losses[1:FIRST_STEPS]))
    moved = ", ".join(f"{100 * one:.0f} %" for one in update_norms.update_ratio[:FIRST_SAMPLES])
    why = (
        f"begins at the full learning rate of {rate:.3g}: the first steps move the weights by {moved} of their length, "
        f"before Adam knows how large gradients are, and the loss rises from {losses[0]:.3g} to {typical:.3g}, the "
        f"median of the first {FIRST_STEPS} steps"
    )
    evidence = (text_evidence("also", "loss", " → ".join(f"{one:.3g}" for one in losses[:FIRST_STEPS:20])),)
    return RuleFinding(
        confidence=0.8,
        why=why,
        fix=_WARM,
        frame=optimizer_line(training_graph),
        op="update",
        step=0,
        evidence=evidence,
    )


_WARM = (
    "let the rate rise over the first hundreds of steps (keras.optimizers.schedules.CosineDecay with warmup_steps), to "
    "a peak of 1e-4 to 1e-3; clipnorm=1.0; normalise before attention and not after it"
)
