"""Updates that are too large from the start: the loss jumps, and never falls below its first value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import (
    UpdateNorms,
    last_learning_rate,
    losses_of,
    update_line,
    update_norms,
)
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FIRST_SAMPLES, FEWEST_STEPS, EARLY_STEPS, PART_COUNT = 3, 60, 10, 10
FEWEST_IF_THROWN, MIN_JUMP_IF_THROWN, MIN_END_IF_THROWN = 16, 100.0, 10.0  # steps, and losses as times the first
MIN_RATIO_IF_THROWN = 1.0  # of the weights, by the first step: nothing is left of them
MIN_FIRST_RATIO = 0.1  # of the weights, by each of the first steps: a thousandth is usual
LATE_STEP, MIN_LATE_RATIO = 16, 0.05  # or of them from that step on, at every look
MIN_JUMP = 2.0  # times the first loss, soon after it or at the end
MIN_JUMP_DEVIATIONS = 4.0  # or as many times what the last ones vary by, in standard deviations of their logarithm
FEWEST_VARYING = 20  # losses, the last ones, that this is measured on
DEVIATION_PER_MEDIAN = 1.48  # standard deviations of a normal distribution are so many times its median deviation
ERROR_OF_MEDIANS = 1.25 * 2**0.5  # of the difference of two, to that of one number
MIN_FINAL_SHARE = 0.9  # of the first loss, in the last tenth of the steps
MIN_FALL_ERRORS = 3.0  # standard errors, from the third quarter of the steps to the last: it may come back yet
SMALLEST_LOSS = float(np.finfo(np.float32).tiny)  # stands for a loss of 0, which has no logarithm
SHOWN_SAMPLES = 3  # of the first looks, and of the last


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = update_norms(process.cached(LayerStatistics))
    if pace is None or not _moves_too_far(pace):
        return
    training = process.cached(TrainingGraph)
    fewest = FEWEST_IF_THROWN if pace.update_ratio[0] >= MIN_RATIO_IF_THROWN else FEWEST_STEPS
    losses = [one for one in losses_of(training).values() if len(one) >= fewest]
    worse = [one for one in losses if _is_thrown(one) or (len(one) >= FEWEST_STEPS and _jumps(one))]
    if worse and all(_is_thrown(one) or _is_no_better(one) for one in losses):
        yield _finding(training, pace, max(worse, key=lambda one: abs(float(one[0]))))


RULE = Rule(
    id="learning-rate-too-high",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "chance-loss", "predictions-collapsed", "loss-rose", "no-warmup", "diverging-loss"),
)


def _moves_too_far(update_norms: UpdateNorms) -> bool:
    if len(update_norms.steps) < FIRST_SAMPLES or not update_norms.is_finite or int(update_norms.steps[0]) != 0:
        return False
    first, late = update_norms.update_ratio[:FIRST_SAMPLES], update_norms.update_ratio[update_norms.steps >= LATE_STEP]
    return bool((first > MIN_FIRST_RATIO).all()) or (len(late) >= FIRST_SAMPLES and bool((late > MIN_LATE_RATIO).all()))


def _jumps(losses: Array) -> bool:
    if not np.isfinite(losses).all() or losses.min() < 0 or losses[0] == 0:
        return False
    highest = max(float(np.max(losses[1 : 1 + EARLY_STEPS])), _end(losses))
    risen = np.log(max(highest, SMALLEST_LOSS) / losses[0])
    return bool(risen > max(np.log(MIN_JUMP), MIN_JUMP_DEVIATIONS * _noise(losses)))


def _is_thrown(losses: Array) -> bool:
    """Return whether the first steps threw the loss so far away that fewer steps are enough to tell."""
    if len(losses) >= FEWEST_STEPS or not np.isfinite(losses).all() or losses.min() < 0 or losses[0] == 0:
        return False
    last = losses[-max(len(losses) // 4, 1) :]
    jumped = np.max(losses[1 : 1 + EARLY_STEPS]) >= MIN_JUMP_IF_THROWN * losses[0]
    return bool(jumped and np.median(last) >= MIN_END_IF_THROWN * losses[0])


def _noise(losses: Array) -> float:
    """Return the standard deviation of the last logarithms, by their median: a batch whose loss is 0 does not count."""
    last = _logarithms(losses[-max(len(losses) // PART_COUNT, FEWEST_VARYING) :])
    return DEVIATION_PER_MEDIAN * float(np.median(np.abs(last - np.median(last))))


def _is_no_better(losses: Array) -> bool:
    return _end(losses) >= MIN_FINAL_SHARE * float(losses[0]) and not _comes_back(losses)


def _comes_back(losses: Array) -> bool:
    """Return whether as many steps again, at the pace of the last half, would bring the loss below its start."""
    before, last = (float(np.median(_logarithms(part))) for part in np.array_split(losses, 4)[2:])
    chance = MIN_FALL_ERRORS * ERROR_OF_MEDIANS * _noise(losses) / (len(losses) / 4) ** 0.5
    ahead = np.log(_end(losses)) - 4 * (before - last)
    return bool(before - last > chance and ahead < np.log(MIN_FINAL_SHARE * losses[0]))


def _logarithms(losses: Array) -> Array:
    return np.asarray(np.log(np.maximum(losses.astype(np.float64), SMALLEST_LOSS)))


def _end(losses: Array) -> float:
    return float(np.median(_last(losses)))


def _last(losses: Array) -> Array:
    return losses[-max(len(losses) // PART_COUNT, 1) :]


def _finding(training_graph: TrainingGraph, update_norms: UpdateNorms, losses: Array) -> RuleFinding:
    rate, highest = last_learning_rate(training_graph), float(losses.max())
    better = "no better" if _end(losses) >= losses[0] else "hardly better"
    moved = ", ".join(f"{100 * one:.0f} %" for one in update_norms.update_ratio[:FIRST_SAMPLES])
    why = (
        f"takes steps that are too long{f', at a learning rate of {rate:.3g}' if rate is not None else ''}: the first "
        f"move the weights by {moved} of their length (0.1 % is usual), the loss jumps from {losses[0]:.3g} to "
        f"{highest:.3g}, and after {len(losses):,} steps it is {_end(losses):.3g}, {better} than before the first"
    )
    by_step = list(zip(update_norms.steps.tolist(), update_norms.update_ratio.tolist(), strict=True))
    looks = ", ".join(
        f"{100 * ratio:.3g} % (step {step})" for step, ratio in (*by_step[:SHOWN_SAMPLES], *by_step[-SHOWN_SAMPLES:])
    )
    parts = " → ".join(f"{np.median(part):.3g}" for part in np.array_split(losses, PART_COUNT))
    evidence = (
        text_evidence("also", "update to weights", looks),
        text_evidence("also", "loss by tenth of the steps", parts),
    )
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_SMALLER,
        frame=update_line(training_graph),
        op="update",
        step=0,
        evidence=evidence,
    )


_SMALLER = (
    "a learning rate 10 to 100 times smaller: 1e-3 for Adam (1e-4 for Transformers), 1e-2 for SGD; then warm-up, and "
    "clipnorm=1.0, where it should be larger"
)
