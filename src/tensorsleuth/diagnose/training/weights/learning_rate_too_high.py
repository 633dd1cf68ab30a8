"""Steps that throw the weights about from the start: the loss jumps up, and never gets below where it began."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.optimizer import Pace, losses_of, pace_of, rate_of, updated_at
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import Inside

FIRST_LOOKS, FEWEST_STEPS, EARLY, PART = 3, 60, 10, 10
THROWN = 0.1  # of the weights, by each of the first steps: a thousandth is usual
LATE, STILL = 16, 0.05  # or of them from that step on, at every look
JUMPED = 2.0  # times the first loss, soon after it or at the end
CHANCE = 4.0  # or as many times what the last ones vary by, in standard deviations of their logarithm
FEWEST_VARYING = 20  # losses, the last ones, that this is measured on
SIGMA = 1.48  # standard deviations of a normal distribution are so many times its median deviation
ERROR_OF_MEDIANS = 1.25 * 2**0.5  # of the difference of two, to that of one number
NO_BETTER = 0.9  # of the first loss, in the last tenth of the steps
FALLING = 3.0  # standard errors, from the third quarter of the steps to the last: it may come back yet
TINY = float(np.finfo(np.float32).tiny)  # stands for a loss of 0, which has no logarithm
SHOWN = 3  # of the first looks, and of the last


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    pace = pace_of(process.once(Inside))
    if pace is None or not _is_thrown(pace):
        return
    training = process.once(Training)
    losses = [one for one in losses_of(training).values() if len(one) >= FEWEST_STEPS]
    worse = [one for one in losses if _jumps(one)]
    stays = bool(worse) and all(_is_no_better(one) for one in losses)
    if stays:
        yield _finding(training, pace, max(worse, key=lambda one: abs(float(one[0]))))


RULE = Rule(
    id="learning-rate-too-high",
    severity=Severity.WRONG,
    find=find,
    supersedes=("chance-loss", "loss-rose", "no-warmup"),
)


def _is_thrown(pace: Pace) -> bool:
    if len(pace.steps) < FIRST_LOOKS or not pace.is_finite or int(pace.steps[0]) != 0:
        return False
    first, late = pace.ratio[:FIRST_LOOKS], pace.ratio[pace.steps >= LATE]
    return bool((first > THROWN).all()) or (len(late) >= FIRST_LOOKS and bool((late > STILL).all()))


def _jumps(losses: Array) -> bool:
    if not np.isfinite(losses).all() or losses.min() < 0 or losses[0] == 0:
        return False
    highest = max(float(np.max(losses[1 : 1 + EARLY])), _end(losses))
    risen = np.log(max(highest, TINY) / losses[0])
    return bool(risen > max(np.log(JUMPED), CHANCE * _noise(losses)))


def _noise(losses: Array) -> float:
    """Return the standard deviation of the last logarithms, by their median: a batch whose loss is 0 does not count."""
    last = _logarithms(losses[-max(len(losses) // PART, FEWEST_VARYING) :])
    return SIGMA * float(np.median(np.abs(last - np.median(last))))


def _is_no_better(losses: Array) -> bool:
    return _end(losses) >= NO_BETTER * float(losses[0]) and not _comes_back(losses)


def _comes_back(losses: Array) -> bool:
    """Would as many steps again, at the pace of the last half, bring the loss below where it began?"""
    before, last = (float(np.median(_logarithms(part))) for part in np.array_split(losses, 4)[2:])
    chance = FALLING * ERROR_OF_MEDIANS * _noise(losses) / (len(losses) / 4) ** 0.5
    ahead = np.log(_end(losses)) - 4 * (before - last)
    return bool(before - last > chance and ahead < np.log(NO_BETTER * losses[0]))


def _logarithms(losses: Array) -> Array:
    return np.asarray(np.log(np.maximum(losses.astype(np.float64), TINY)))


def _end(losses: Array) -> float:
    return float(np.median(_last(losses)))


def _last(losses: Array) -> Array:
    return losses[-max(len(losses) // PART, 1) :]


def _finding(training: Training, pace: Pace, losses: Array) -> RuleFinding:
    rate, highest = rate_of(training), float(losses.max())
    better = "no better" if _end(losses) >= losses[0] else "hardly better"
    moved = ", ".join(f"{100 * one:.0f} %" for one in pace.ratio[:FIRST_LOOKS])
    why = (
        f"takes steps that are too long{f', at a learning rate of {rate:.3g}' if rate is not None else ''}: the first "
        f"move the weights by {moved} of their length (0.1 % is usual), the loss jumps from {losses[0]:.3g} to "
        f"{highest:.3g}, and after {len(losses):,} steps it is {_end(losses):.3g}, {better} than before the first"
    )
    by_step = list(zip(pace.steps.tolist(), pace.ratio.tolist(), strict=True))
    looks = ", ".join(f"{100 * ratio:.3g} % (step {step})" for step, ratio in (*by_step[:SHOWN], *by_step[-SHOWN:]))
    parts = " → ".join(f"{np.median(part):.3g}" for part in np.array_split(losses, PART))
    evidence = (piece("also", "update to weights", looks), piece("also", "loss by tenth of the steps", parts))
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_SMALLER,
        frame=updated_at(training),
        op="update",
        step=0,
        evidence=evidence,
    )


_SMALLER = (
    "a learning rate 10 to 100 times smaller: 1e-3 for Adam (1e-4 for Transformers), 1e-2 for SGD; then warm-up, and "
    "clipnorm=1.0, where it should be larger"
)
