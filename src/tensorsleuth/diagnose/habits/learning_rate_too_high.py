"""Steps that throw the weights about from the start: the loss jumps up, and never gets below where it began."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tensorsleuth.diagnose.habit import Habit, is_told, piece
from tensorsleuth.diagnose.habits import dead_layer, exploding_gradients, logits_as_probabilities
from tensorsleuth.diagnose.optimizing import Pace, losses_of, pace_of, rate_of, updated_at
from tensorsleuth.diagnose.training import Training
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array

FIRST_LOOKS, FEWEST_STEPS, EARLY, PART = 3, 60, 10, 10
THROWN = 0.1  # of the weights, by each of the first steps: a thousandth is usual
LATE, STILL = 16, 0.05  # or of them from that step on, at every look
JUMPED = 2.0  # times the first loss, soon after it or at the end
CHANCE = 4.0  # or as many times what the last ones vary by, in standard deviations of their logarithm
NO_BETTER = 0.9  # of the first loss, in the last tenth of the steps
FALLING = 5  # tenths, the last ones, each below the one before: it may come back yet
SHOWN = 3  # of the first looks, and of the last
MORE_SPECIFIC = (logits_as_probabilities, exploding_gradients, dead_layer)


def find(process: ProcessTrace) -> Iterator[Habit]:
    pace = pace_of(process.once(Inside))
    if pace is None or not _is_thrown(pace):
        return
    training = process.once(Training)
    losses = [one for one in losses_of(training).values() if len(one) >= FEWEST_STEPS]
    worse = [one for one in losses if _jumps(one)]
    stays = bool(worse) and all(_is_no_better(one) for one in losses)
    if stays and not is_told(process, MORE_SPECIFIC):
        yield _habit(training, pace, max(worse, key=lambda one: abs(float(one[0]))))


def _is_thrown(pace: Pace) -> bool:
    if len(pace.steps) < FIRST_LOOKS or not pace.is_finite or int(pace.steps[0]) != 0:
        return False
    first, late = pace.ratio[:FIRST_LOOKS], pace.ratio[pace.steps >= LATE]
    return bool((first > THROWN).all()) or (len(late) >= FIRST_LOOKS and bool((late > STILL).all()))


def _jumps(losses: Array) -> bool:
    if not np.isfinite(losses).all() or (losses <= 0).any():
        return False
    highest = max(float(np.max(losses[1 : 1 + EARLY])), _end(losses))
    noise = float(np.std(np.log(_last(losses))))
    return bool(np.log(highest / losses[0]) > max(np.log(JUMPED), CHANCE * noise))


def _is_no_better(losses: Array) -> bool:
    return _end(losses) >= NO_BETTER * float(losses[0]) and not _still_falls(losses)


def _still_falls(losses: Array) -> bool:
    tenths = [float(np.median(part)) for part in np.array_split(losses, PART)[-FALLING:]]
    return all(after < before for before, after in pairwise(tenths))


def _end(losses: Array) -> float:
    return float(np.median(_last(losses)))


def _last(losses: Array) -> Array:
    return losses[-max(len(losses) // PART, 1) :]


def _habit(training: Training, pace: Pace, losses: Array) -> Habit:
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
    place = updated_at(training), "update", 0.0, False, 0, evidence
    return Habit("learning-rate-too-high", 0.9, why, _SMALLER, *place, is_wrong=True)


_SMALLER = (
    "a learning rate 10 to 100 times smaller: 1e-3 for Adam (1e-4 for Transformers), 1e-2 for SGD; then warm-up, and "
    "clipnorm=1.0, where it should be larger"
)
