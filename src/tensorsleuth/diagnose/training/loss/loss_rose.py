"""A note: the loss rose over the run, and nothing else is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import has_rivals, losses_of, update_line
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS, PART_COUNT = 50, 10
MIN_RISE = 1.2  # times the first tenth of the steps, the last
MIN_STANDARD_ERRORS = 4.0  # standard errors
FEWEST_CLEAR_STEPS, PARTS_OF_FEW = 20, 4
MIN_CLEAR_RISE, MIN_ORDER = 2.0, 0.9  # times the first quarter, the last; rank correlation of losses with steps


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    losses = list(losses_of(training).values())
    # several are at odds, as those of a GAN are; one that may be negative is no distance from a goal
    rises = len(losses) == 1 and (_rises(losses[0]) if len(losses[0]) >= FEWEST_STEPS else _climbs(losses[0]))
    if rises and not has_rivals(training):
        yield _finding(training, losses[0])


RULE = Rule(id="loss-rose", severity=Severity.NOTE, find=find)


def _rises(losses: Array) -> bool:
    if not np.isfinite(losses).all() or losses.min() < 0:
        return False
    parts = np.array_split(losses.astype(np.float64), PART_COUNT)
    first, last = parts[0], parts[-1]
    error = float(np.hypot(first.std() / len(first) ** 0.5, last.std() / len(last) ** 0.5))
    return bool(last.mean() > MIN_RISE * first.mean() and last.mean() - first.mean() > MIN_STANDARD_ERRORS * error)


def _climbs(losses: Array) -> bool:
    """Return whether a shorter course leaves no doubt: it doubles, and hardly a step goes down again."""
    if len(losses) < FEWEST_CLEAR_STEPS or not np.isfinite(losses).all() or losses.min() < 0:
        return False
    parts = np.array_split(losses.astype(np.float64), PARTS_OF_FEW)
    ranks = np.argsort(np.argsort(losses, kind="stable"), kind="stable")
    order = float(np.corrcoef(ranks, np.arange(len(losses)))[0, 1])
    return bool(parts[-1].mean() > MIN_CLEAR_RISE * parts[0].mean() and order >= MIN_ORDER)


def _finding(training_graph: TrainingGraph, losses: Array) -> RuleFinding:
    means = [float(part.mean()) for part in np.array_split(losses, PART_COUNT)]
    why = (
        f"trains {len(losses):,} steps in which the loss rose, from {means[0]:.4g} in the first tenth of them to "
        f"{means[-1]:.4g} in the last"
    )
    evidence = (text_evidence("also", "loss by tenth of the steps", " → ".join(f"{one:.3g}" for one in means)),)
    return RuleFinding(
        confidence=0.6,
        why=why,
        fix=_LOOK,
        frame=update_line(training_graph),
        op="loss",
        evidence=evidence,
    )


_LOOK = (
    "it may be intended: moving targets (Q-learning), a growing loss weight, harder data. Otherwise "
    "check the sign of the loss and of the update, the learning rate, and the order of the data"
)
