"""Gradients that grow from look to look, with steps that throw the weights further than they are long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.optimizer import Pace, losses_of, pace_of, rate_of, updated_at
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

FEWEST_LOOKS = 5
EARLY = 3  # looks, whose median is what gradients are compared with
GROWN = 1e3  # times that, at the last look; a tenth of it at the one before
LEAST_RATIO = 1.0  # of the update to the weights then: clipping, and optimizers that divide by the size, stay far below


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = pace_of(process.once(Inside))
    if pace is not None and _explodes(pace):
        training = process.once(Training)
        if all(np.isfinite(losses).all() for losses in losses_of(training).values()):
            yield _finding(training, pace)


RULE = Rule(
    id="exploding-gradients", severity=Severity.WRONG, find=find, supersedes=("learning-rate-too-high", "loss-rose")
)


def _explodes(pace: Pace) -> bool:
    if len(pace.steps) < FEWEST_LOOKS or not pace.is_finite:
        return False
    before, last = pace.gradient[-2:] / max(float(np.median(pace.gradient[:EARLY])), np.finfo(np.float32).tiny)
    thrown = bool((pace.ratio[-2:] > LEAST_RATIO).all())
    return thrown and bool(last >= GROWN and last > before >= GROWN / 10)


def _finding(training: Training, pace: Pace) -> RuleFinding:
    first, last, rate = float(np.median(pace.gradient[:EARLY])), float(pace.gradient[-1]), rate_of(training)
    why = (
        f"trains with gradients that explode: their norm is {first:.3g} in the first samples and {last:.3g} in step "
        f"{int(pace.steps[-1])}, and a step moves the weights by {pace.ratio[-1]:.2g} times their own length"
        f"{f', at a learning rate of {rate:.3g}' if rate is not None else ''}: each overshoots more than the last"
    )
    looks = [piece("also", f"step {step}", said) for step, said in _looks(pace)]
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_SMALLER,
        frame=updated_at(training),
        op="gradient",
        step=int(pace.steps[-2]),
        evidence=tuple(looks),
    )


def _looks(pace: Pace) -> Iterator[tuple[int, str]]:
    for at in sorted({0, len(pace.steps) // 2, len(pace.steps) - 1}):
        yield int(pace.steps[at]), f"gradients {pace.gradient[at]:.3g}, update to weights {pace.ratio[at]:.2g}"


_SMALLER = (
    "a smaller learning rate, or clip the gradients by their norm (clipnorm=1.0, tf.clip_by_global_norm); inputs and "
    "targets around 0 with a spread of 1 allow larger rates"
)
