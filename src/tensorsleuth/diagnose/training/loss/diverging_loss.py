"""A loss that leaves its first value behind by orders of magnitude, upwards or downwards, and stays there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import last_learning_rate, losses_of, update_line
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS, PART_COUNT = 4, 4
EARLY_STEPS = 10  # after a jump in these, the root of the same factor is enough at the end
MIN_TIMES, MIN_TIMES_IF_SEVERAL = 1e4, 1e6  # the first loss, or 1: returns and errors of RL grow by some hundred times


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    losses = losses_of(training)
    times = MIN_TIMES if len(losses) == 1 else MIN_TIMES_IF_SEVERAL
    for spot, values in losses.items():
        if _diverges(values, times):
            yield _finding(training, spot, values)


RULE = Rule(
    id="diverging-loss",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "loss-rose", "chance-loss", "predictions-collapsed"),
)


def _diverges(losses: Array, times: float) -> bool:
    """Return whether all of the last quarter lies so many times beyond the first value."""
    values = losses.astype(np.float64)
    if len(values) < FEWEST_STEPS or not np.isfinite(values).all():
        return False
    last = np.array_split(values, PART_COUNT)[-1]
    start = max(abs(float(values[0])), 1.0)
    jumped = values[1 : 1 + EARLY_STEPS].max() > times * start and last.min() > times**0.5 * start
    return bool(jumped or (last > times * start).all() or (last < -times * start).all())


def falls_without_bound(losses: Array) -> bool:
    """Return whether a loss goes further and further below zero: it is made wrongly, and steps only follow it."""
    return _diverges(losses, MIN_TIMES) and bool(losses[-1] < 0)


def _finding(training_graph: TrainingGraph, loss: OpNode, losses: Array) -> RuleFinding:
    falls, rate = bool(losses[-1] < 0), last_learning_rate(training_graph)
    said = [f"{part[-1]:.3g}" for part in np.array_split(losses, min(len(losses), 8))]
    course = f"from {losses[0]:.3g} to {losses[-1]:.3g} in {len(losses):,} steps"
    why = (
        f"computes a loss that has no lower bound: it went {course}, and no distance from a goal is negative"
        if falls
        else f"updates the weights, and the loss went {course}"
        f"{f', at a learning rate of {rate:.3g}' if rate is not None else ''}: training diverges"
    )
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_BOUND if falls else _SMALLER,
        frame=training_graph.frame(loss) if falls else update_line(training_graph),
        op=loss.type,
        step=0,
        evidence=(text_evidence("also", "loss", " → ".join([f"{losses[0]:.3g}", *said])),),
    )


_SMALLER = (
    "a learning rate 10 to 1,000 times smaller: 1e-3 for Adam and 1e-2 for SGD are where to begin; inputs and targets "
    "scaled to about −1 … 1; look at the sign of the update (w −= rate · gradient)"
)
_BOUND = (
    "labels of a binary cross-entropy have to lie in 0 … 1 (not −1 and 1, nor 0 … 255), a likelihood needs a variance "
    "above some bound, and what is to be maximised enters with a minus sign"
)
