"""A loss scale that is halved until it is 1 or less: gradients that float16 cannot hold at any scale."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import update_line, variable_values
from tensorsleuth.trace.process.process import ProcessTrace

SCALE_VARIABLES = ("dynamic_scale", "current_loss_scale")  # what Keras 3 and Keras 2 call it
FEWEST_HALVED = 10  # steps that were thrown away
COLLAPSED_SCALE = 1.0  # no gradient is scaled up any more, which is what the scale is for


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    for name in SCALE_VARIABLES:
        scale = variable_values(training, name)
        halved = int((np.diff(scale) < 0).sum())
        if halved >= FEWEST_HALVED and scale[-1] <= COLLAPSED_SCALE:
            yield _finding(training, scale, halved)


RULE = Rule(id="loss-scale-collapse", severity=Severity.WRONG, find=find)


def _finding(training_graph: TrainingGraph, scale: Array, halved: int) -> RuleFinding:
    since = int(np.flatnonzero(scale <= COLLAPSED_SCALE)[0])
    why = (
        f"scales the loss for float16, and the scale collapses: {scale[0]:.6g} at the start, {scale[-1]:.3g} after "
        f"{len(scale):,} steps. In {halved:,} of them a gradient was not finite, and the step was skipped; from "
        f"step {since} on they do not fit into float16 even as they are"
    )
    shown = sorted({0, since, len(scale) - 1})
    evidence = tuple(text_evidence("also", f"step {at}", f"loss scale {scale[at]:.3g}") for at in shown)
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_FIT,
        frame=update_line(training_graph),
        op="loss scale",
        step=since,
        evidence=evidence,
    )


_FIT = (
    "make the loss smaller: targets around 0 with a spread of 1, a mean in the place of a sum; what is listed as "
    "masked is where gradients stop being finite, and may be NaN at any scale; or mixed_bfloat16, which needs no scale"
)
