"""Steps that are far too long or too short for the weights, while the loss does not fall: a note.

A loss that jumps, or does not move at all, is a problem, and other rules tell it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, element_counts
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loops import TrainingLoops
from tensorsleuth.diagnose.training.loss.flat_loss import MAX_STANDARD_ERRORS, has_to_learn, is_flat
from tensorsleuth.diagnose.training.optimizer import (
    UpdateNorms,
    last_learning_rate,
    losses_of,
    update_line,
    update_norms,
)
from tensorsleuth.diagnose.training.weight_reads import WeightReads
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FEWEST_STEPS, LATE_STEP, FEWEST_LATE_SAMPLES = 60, 16, 3
MIN_LATE_RATIO = 0.1  # of the weights, by each sampled step from LATE_STEP on: a thousandth is usual
MIN_MOVE_OF_RANGE = 0.03  # of the largest weight, by a step: it grows with them, and moves less than they do
MIN_LOSS_LEFT = 0.2  # of the first loss, in the last quarter: with less, the model has learned
FEWEST_SHORT_STEPS = 100
MAX_PATH = 1e-3  # of the weights, by all steps together if each went the same way


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    losses = [one.astype(np.float64) for one in losses_of(training).values()]
    if len(losses) != 1 or not np.isfinite(losses[0]).all() or losses[0].min(initial=0.0) < 0:
        return  # several are at odds, as in a GAN
    pace = update_norms(process.cached(LayerStatistics))
    if _is_stuck(losses[0]) and (how_far := _too_long(process, pace)):
        yield _finding(training, losses[0], "learning-rate-too-high", _long_words(how_far), _SMALLER)
    elif pace is not None and _is_too_short(pace, losses[0]):
        yield _finding(training, losses[0], "flat-loss", _short_words(pace), _LARGER)


RULE = Rule(id="step-length", severity=Severity.DOUBTFUL, find=find, causes=("learning-rate-too-high", "flat-loss"))


def _is_stuck(losses: Array) -> bool:
    """Return whether the loss has not come far, and does not fall any more, by more than chance."""
    if len(losses) < FEWEST_STEPS:
        return False
    third, last = np.array_split(losses, 4)[2:]
    chance = MAX_STANDARD_ERRORS * float(np.hypot(third.std(), last.std())) / len(last) ** 0.5
    return bool(np.median(last) >= MIN_LOSS_LEFT * losses[0] > 0 and third.mean() - last.mean() <= chance)


def _too_long(process: ProcessTrace, update_norms: UpdateNorms | None) -> str:
    """Say how far later steps move the weights; empty if that is usual or unknown."""
    if update_norms is None:
        moved = _move_of_range(process)
        return f"the largest weight changes by {100 * moved:.2g} % in a step" if moved > MIN_MOVE_OF_RANGE else ""
    late = update_norms.update_ratio[update_norms.steps >= LATE_STEP]
    ratio = float(late.min()) if len(late) >= FEWEST_LATE_SAMPLES and update_norms.is_finite else 0.0
    from_then = f"from step {LATE_STEP} on each sampled one moves the weights by"
    return f"{from_then} {100 * ratio:.2g} % of their length or more" if ratio > MIN_LATE_RATIO else ""


def _move_of_range(process: ProcessTrace) -> float:
    """Return by which part of it the range of the largest variable moves in a step, where no updates were sampled."""
    reads = process.cached(WeightReads)
    handles = {handle for loop in process.cached(TrainingLoops).all for handle in loop.variables}
    known = [rows for handle in handles if (rows := reads.of(handle)) is not None and len(rows) >= FEWEST_STEPS]
    if not known:
        return 0.0
    rows = max(known, key=lambda one: int(element_counts(one[:1])[0]))
    low, high = (rows[name].astype(np.float64)[len(rows) // 2 :] for name in ("min", "max"))
    size = np.maximum(np.abs(low), np.abs(high))[:-1].clip(np.finfo(np.float32).tiny)
    return float(np.median(np.maximum(np.abs(np.diff(low)), np.abs(np.diff(high))) / size))


def _is_too_short(update_norms: UpdateNorms, losses: Array) -> bool:
    """Return whether all steps together can hardly have moved the weights, though the loss asks for it."""
    if len(losses) < FEWEST_SHORT_STEPS or len(update_norms.steps) < FEWEST_LATE_SAMPLES or not update_norms.is_finite:
        return False
    path = float(update_norms.update_ratio.max()) * len(losses)
    return 0 < path <= MAX_PATH and is_flat(losses) and has_to_learn(update_norms, losses)


def _long_words(how_far: str) -> str:
    return f"takes steps that may be too long: {how_far} (0.1 % is usual)"


def _short_words(update_norms: UpdateNorms) -> str:
    ratio = float(update_norms.update_ratio.max())
    return f"takes steps that may be too short: none moves the weights by more than {ratio:.1g} of their length"


def _finding(training_graph: TrainingGraph, losses: Array, cause: str, how: str, fix: str) -> RuleFinding:
    quarters = [float(part.mean()) for part in np.array_split(losses, 4)]
    rate = last_learning_rate(training_graph)
    at = f", at a learning rate of {rate:.3g}" if rate is not None else ""
    why = (
        f"{how}{at}, and the loss does not fall: {quarters[2]:.4g} in the third quarter, {quarters[3]:.4g} in the last"
    )
    return RuleFinding(
        cause=cause,
        confidence=0.6,
        why=why,
        fix=fix,
        frame=update_line(training_graph),
        op="update",
        step=0,
        evidence=(text_evidence("also", "loss", " → ".join(f"{one:.4g}" for one in quarters)),),
    )


_SMALLER = "try a learning rate 10 times smaller, or one that decays; if the loss falls further then, it was too high"
_LARGER = (
    "try a learning rate 10 to 100 times larger; look for a rate that is divided twice, a schedule that decays early"
)
