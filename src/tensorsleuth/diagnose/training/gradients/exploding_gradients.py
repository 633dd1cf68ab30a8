"""Gradients that grow from sample to sample, with updates larger than the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loss.diverging_loss import falls_without_bound
from tensorsleuth.diagnose.training.optimizer import (
    UpdateNorms,
    last_learning_rate,
    losses_of,
    update_line,
    update_norms,
)
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_SAMPLES = 5
EARLY_SAMPLES = 3  # looks, whose median is what gradients are compared with
MIN_GROWTH = 1e3  # times that, at the last look; a tenth of it at the one before
MIN_UPDATE_RATIO = (
    1.0  # of the update to the weights then: clipping, and optimizers that divide by the size, stay far below
)


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = update_norms(process.cached(LayerStatistics))
    if pace is not None and _explodes(pace):
        training = process.cached(TrainingGraph)
        losses = losses_of(training).values()
        if all(np.isfinite(one).all() and not falls_without_bound(one) for one in losses):
            yield _finding(training, pace)


RULE = Rule(
    id="exploding-gradients",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "learning-rate-too-high", "loss-rose", "diverging-loss", "predictions-collapsed"),
    is_symptom=True,
)


def _explodes(update_norms: UpdateNorms) -> bool:
    if len(update_norms.steps) < FEWEST_SAMPLES or not update_norms.is_finite:
        return False
    before, last = update_norms.gradient[-2:] / max(
        float(np.median(update_norms.gradient[:EARLY_SAMPLES])), np.finfo(np.float32).tiny
    )
    thrown = bool((update_norms.update_ratio[-2:] > MIN_UPDATE_RATIO).all())
    return thrown and bool(last >= MIN_GROWTH and last > before >= MIN_GROWTH / 10)


def _finding(training_graph: TrainingGraph, update_norms: UpdateNorms) -> RuleFinding:
    first, last, rate = (
        float(np.median(update_norms.gradient[:EARLY_SAMPLES])),
        float(update_norms.gradient[-1]),
        last_learning_rate(training_graph),
    )
    why = (
        f"trains with gradients that explode: their norm is {first:.3g} in the first samples and {last:.3g} in step "
        f"{int(update_norms.steps[-1])}, and a step moves the weights by {update_norms.update_ratio[-1]:.2g} "
        "times their own length"
        f"{f', at a learning rate of {rate:.3g}' if rate is not None else ''}: each overshoots more than the last"
    )
    looks = [text_evidence("also", f"step {step}", said) for step, said in _sample_words(update_norms)]
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_SMALLER,
        frame=update_line(training_graph),
        op="gradient",
        step=int(update_norms.steps[-2]),
        evidence=tuple(looks),
    )


def _sample_words(update_norms: UpdateNorms) -> Iterator[tuple[int, str]]:
    for at in sorted({0, len(update_norms.steps) // 2, len(update_norms.steps) - 1}):
        yield (
            int(update_norms.steps[at]),
            f"gradients {update_norms.gradient[at]:.3g}, update to weights {update_norms.update_ratio[at]:.2g}",
        )


_SMALLER = (
    "a smaller learning rate, or clip the gradients by their norm (clipnorm=1.0, tf.clip_by_global_norm); inputs and "
    "targets around 0 with a spread of 1 allow larger rates"
)
