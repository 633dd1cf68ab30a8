"""A Transformer that Adam moves at the full rate from the first step on, and whose loss rises instead of falling."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.optimizer import Pace, losses_of, optimizer_at, pace_of, readings
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

FIRST_LOOKS, FIRST_STEPS, FEWEST_STEPS = 3, 100, 20
LEAST_RATIO = 0.1  # of the update to the weights, at each of the first looks: a thousandth is usual
RISEN = 1.5  # times the loss of the first step, in half of the first steps
_SQUARES = re.compile(r"_velocity$|(^|/)v/")  # what Adam keeps of each weight, in Keras 3 and in Keras 2


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.once(Inside)
    pace = pace_of(inside) if inside.attention else None
    if pace is None or not _is_thrown(pace):
        return
    training = process.once(Training)
    losses = next((one for one in losses_of(training).values() if _rises(one)), None)
    constant = _is_constant(readings(training, "learning_rate"))
    if losses is not None and _is_adam(training) and constant:
        yield _finding(training, pace, losses)


RULE = Rule(id="no-warmup", severity=Severity.NOTE, find=find, supersedes=("loss-rose",))


def _is_thrown(pace: Pace) -> bool:
    first = pace.ratio[:FIRST_LOOKS]
    return len(first) == FIRST_LOOKS and int(pace.steps[0]) == 0 and bool((first > LEAST_RATIO).all())


def _rises(losses: Array) -> bool:
    first = losses[1:FIRST_STEPS]
    begun = len(first) >= FEWEST_STEPS and bool(np.isfinite(losses).all()) and losses[0] > 0
    return begun and float(np.median(first)) > RISEN * float(losses[0])


def _is_adam(training: Training) -> bool:
    return any(_SQUARES.search(name) for name in training.variables.names.values())


def _is_constant(rates: Array) -> bool:
    first = rates[:FIRST_STEPS]
    return len(first) > 0 and float(first.min()) == float(first.max())


def _finding(training: Training, pace: Pace, losses: Array) -> RuleFinding:
    rate, typical = float(readings(training, "learning_rate")[0]), float(np.median(losses[1:FIRST_STEPS]))
    moved = ", ".join(f"{100 * one:.0f} %" for one in pace.ratio[:FIRST_LOOKS])
    why = (
        f"begins at the full learning rate of {rate:.3g}: the first steps move the weights by {moved} of their length, "
        f"before Adam knows how large gradients are, and the loss rises from {losses[0]:.3g} to {typical:.3g}, the "
        f"median of the first {FIRST_STEPS} steps"
    )
    evidence = (piece("also", "loss", " → ".join(f"{one:.3g}" for one in losses[:FIRST_STEPS:20])),)
    return RuleFinding(
        confidence=0.8,
        why=why,
        fix=_WARM,
        frame=optimizer_at(training),
        op="update",
        step=0,
        evidence=evidence,
    )


_WARM = (
    "let the rate rise over the first hundreds of steps (keras.optimizers.schedules.CosineDecay with warmup_steps), to "
    "a peak of 1e-4 to 1e-3; clipnorm=1.0; normalise before attention and not after it"
)
