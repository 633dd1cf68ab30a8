"""Gradients of all weights that are exactly zero while the loss has not fallen: some op blocks them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.elementwise import CLIPPING_OPS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.rules import RuleFindings
from tensorsleuth.diagnose.training.gradients.gradient_stops import gradient_stop
from tensorsleuth.diagnose.training.optimizer import losses_of
from tensorsleuth.diagnose.training.samples.unscaled_inputs import RULE as UNSCALED_INPUTS
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

FEWEST_SAMPLES, MIN_LAST_STEP = 4, 16  # the last looks, up to a step that is not one of the first, or all looks
LEAST_LOSS = 1e-6
MIN_LOSS_LEFT = 0.5  # of the first loss: with less, the model has learned, and may have met all that the loss asks for
PART_COUNT = 10  # of the steps, that the loss is judged by


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    inside = process.cached(LayerStatistics)
    gradients = inside.gradients or inside.updates  # TensorFlow leaves out what it knows to be zero when it optimises
    if not inside.gradients and not _writes_weights(process):
        return
    zeros = _zero_samples(gradients)
    always = bool(inside.gradients) and all(len(one) == zeros for one in gradients)  # updates may begin later
    if zeros < FEWEST_SAMPLES or (int(gradients[0].steps[-1]) < MIN_LAST_STEP and not always):
        return
    training = process.cached(TrainingGraph)
    losses = losses_of(training)
    left = {spot: values for spot, values in losses.items() if _can_learn(values)}
    if left:
        spot = max(left, key=lambda one: float(np.abs(left[one]).max()))
        stop = gradient_stop(training, spot)
        if stop is not None or not _has_large_inputs(process):
            yield _finding(training, gradients, zeros, spot, stop, left[spot])


RULE = Rule(
    id="zero-gradients",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "chance-loss", "predictions-collapsed", "frozen-weights"),
    is_symptom=True,
)


def _has_large_inputs(process: ProcessTrace) -> bool:
    """Return whether inputs are so large that they saturate whatever computes the loss: that is told instead."""
    return any(not one.is_note for one in process.cached(RuleFindings).of_rule(UNSCALED_INPUTS))


def _writes_weights(process: ProcessTrace) -> bool:
    """Return whether the program writes variables step by step: else gradients may be anything, and are not applied."""
    written = WrittenVariables(process.cached(TrainingGraph))
    return bool(written.by_functions or written.by_compiled) or any(
        len(calls) > FEWEST_SAMPLES for calls in written.by_eager_calls.values()
    )


def _zero_samples(gradients: list[WatchedSeries]) -> int:
    """Return the number of last samples in which every gradient was zero."""
    looks = min((len(one) for one in gradients), default=0)
    if not looks:
        return 0
    zero = np.array([one.rows["zero"][-looks:] == one.rows["elements"][-looks:] for one in gradients]).all(axis=0)
    return looks - 1 - int(np.flatnonzero(~zero)[-1]) if not zero.all() else looks


def _can_learn(losses: Array) -> bool:
    """Return whether there is something that could be learned: the loss is not zero, nor has it come down."""
    size = np.abs(losses[np.isfinite(losses)])
    last = float(np.median(size[-max(len(size) // PART_COUNT, 1) :])) if len(size) else 0.0
    return len(size) == len(losses) and last > LEAST_LOSS and last > MIN_LOSS_LEFT * float(size[0])


def _finding(
    training_graph: TrainingGraph,
    gradients: list[WatchedSeries],
    zeros: int,
    loss: OpNode,
    stop: OpNode | None,
    losses: Array,
) -> RuleFinding:
    step = int(gradients[0].steps[-zeros])
    what = (
        f"lets no gradient through ({_stop_words(training_graph, stop)})"
        if stop
        else "computes a loss without gradients"
    )
    why = (
        f"{what}: those of all {pluralise(len(gradients), 'variable')} are exactly 0 in the last {zeros} "
        "samples, from step "
        f"{step} on, while the loss is {losses[-1]:.4g}, {losses[0]:.4g} in the first step: nothing is learned"
    )
    said = [(one.name, f"gradient 0 in {zeros} of {len(one)} samples") for one in gradients[:3]]
    evidence = tuple(text_evidence("also", name, words) for name, words in said)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_fix(stop),
        frame=training_graph.frame(stop or loss),
        op=(stop or loss).type,
        step=step,
        evidence=evidence,
    )


def _stop_words(training_graph: TrainingGraph, stop: OpNode) -> str:
    """Describe the op, with its output if all inputs lie where it is flat."""
    rows = training_graph.output_rows((stop,)).get(stop) if stop.type in CLIPPING_OPS else None
    return f"{stop.type}, {rows['max'][-1]:.4g} for all of it" if rows is not None else stop.type


def _fix(stop: OpNode | None) -> str:
    return _LOOK if stop is None else _BEYOND if stop.type in CLIPPING_OPS else _SMOOTH


_BEYOND = (
    "all that goes in lies where it is flat: scale it to where it is not, clip what is reported and not what is "
    "learned from, or take a smooth bound (sigmoid, softplus)"
)
_SMOOTH = (
    "steps (sign, round, argmax, comparisons, integers) are for metrics: compute the loss of what goes into them, "
    "or of something smooth in their place (sigmoid, softmax)"
)
_LOOK = (
    "look for weights or masks of 0 in the loss, for clips and ReLUs beyond whose ends it all lies, and for gradients "
    "that underflow in float16 (keras.optimizers.LossScaleOptimizer)"
)
