"""A cross-entropy that stays at the logarithm of the number of classes: the loss of a guess."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.ops.reductions import AVERAGING_OPS, CROSS_ENTROPIES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, class_count
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.eager_ops import differentiated_eager_ops
from tensorsleuth.diagnose.training.loss.probabilities import sigmoid_losses
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS_TO_MEAN = 6  # ops from the losses of the samples to their mean
FEWEST_STEPS, ENOUGH_STEPS = 200, 1000  # steps for a note, and for a problem: a slow start is none
MIN_CHANCE_RATIO, MAX_CHANCE_RATIO = 0.985, 1.2  # of the logarithm, in each quarter of the steps
MOST_NOISE = 0.02  # by which the last quarter may be below the first


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    for spot, classes, losses in losses_at_chance(training, FEWEST_STEPS):
        yield _finding(training, spot, classes, _quarters(losses), len(losses))


RULE = Rule(id="chance-loss", severity=Severity.WRONG, find=find)


def losses_at_chance(training_graph: TrainingGraph, fewest: int) -> Iterator[tuple[OpNode, int, Array]]:
    """Yield each cross-entropy that stays at the loss of a guess for so many steps, its classes and its mean."""
    for spot, classes in _cross_entropies(training_graph):
        for losses in _averages(training_graph, spot) if classes > 1 else ():
            if len(losses) >= fewest and _at_chance(_quarters(losses), math.log(classes)):
                yield spot, classes, losses
                break


def _quarters(losses: Array) -> list[float]:
    return [float(np.mean(part)) for part in np.array_split(losses, 4)]


def _cross_entropies(training_graph: TrainingGraph) -> list[tuple[OpNode, int]]:
    """Return cross-entropies with their class counts. Several of two classes, as in a GAN, compete."""
    of_two = [(spot, 2) for spot in sigmoid_losses(training_graph)]
    several = [(spot, class_count(training_graph, spot)) for spot in training_graph.forward_ops(CROSS_ENTROPIES)]
    eager = differentiated_eager_ops(training_graph.process, CROSS_ENTROPIES, 0)
    several += [(spot, class_count(training_graph, spot)) for spot, _ in eager]
    return several + (of_two if len(of_two) == 1 else [])


def _averages(training_graph: TrainingGraph, op_node: OpNode) -> Iterator[Array]:
    """Yield the scalars computed from the samples' losses, step by step."""
    level: set[OpNode] = {op_node}
    for _ in range(MAX_HOPS_TO_MEAN):
        users = {user for one in level for user in training_graph.forward_consumers(one) if user.type in AVERAGING_OPS}
        level = users
        for rows in training_graph.output_rows(level).values():
            if training_graph.process.shape_of(rows[0]) == ():
                yield rows["max"]


def _at_chance(quarters: list[float], chance: float) -> bool:
    bounded = all(MIN_CHANCE_RATIO * chance <= one <= MAX_CHANCE_RATIO * chance for one in quarters)
    return (
        bounded
        and quarters[0] - quarters[-1] <= (MAX_CHANCE_RATIO - 1) * chance
        and abs(quarters[-1] / chance - 1) < MOST_NOISE
    )


def _finding(
    training_graph: TrainingGraph, op_node: OpNode, classes: int, quarters: list[float], steps: int
) -> RuleFinding:
    is_note = steps < ENOUGH_STEPS or op_node.type not in CROSS_ENTROPIES  # of two, labels may lie between 0 and 1
    why = (
        f"computes a loss of {quarters[-1]:.4g} in the last quarter of {steps:,} steps, {quarters[0]:.4g} in the "
        f"first: log({classes:,}) = {math.log(classes):.4g} is what guessing among {classes:,} classes gives, so "
        f"nothing has been learned{' yet' if is_note else ''}"
    )
    said = " → ".join(f"{one:.4g}" for one in quarters)
    evidence = (text_evidence("also", "loss", f"by quarter of the steps: {said}"),)
    return RuleFinding(
        confidence=0.8,
        why=why,
        fix=_PAIRS,
        frame=training_graph.frame(op_node),
        op=op_node.type,
        evidence=evidence,
        severity=Severity.DOUBTFUL if is_note else Severity.WRONG,
    )


_PAIRS = (
    "look whether inputs and labels still belong together (shuffled alike, joined by the same key), then at the "
    "learning rate, and at layers whose gradient is zero; a model should be able to overfit ten samples"
)
