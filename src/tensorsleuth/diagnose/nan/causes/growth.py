"""Slow deaths: weights or activations that grew, step over step or within a loop, until an op overflowed."""

from __future__ import annotations

import math

from tensorsleuth.diagnose.nan.case import Case, Story
from tensorsleuth.diagnose.nan.history import Growth
from tensorsleuth.diagnose.nan.last_update import Update, last_update
from tensorsleuth.trace.dataflow.observed import Observed


def match(case: Case) -> Story | None:
    if case.birth.arrived or case.birth.from_infinity or not (case.is_large or case.written is not None):
        return None
    if case.grew_in_loop is not None and not case.out.half:
        return _recurrence(case, case.grew_in_loop)
    return _training(case)


def _recurrence(case: Case, growth: Growth) -> Story:
    why = (
        f"overflows in a loop that grew its state {growth.rate:.3g}× each iteration, from iteration {growth.began} on "
        f"({growth.first:.3g} to {growth.last:.3g} at iteration {growth.ended})"
    )
    return Story("exploding-recurrence", 0.94, why, _RECURRENCE)


def _training(case: Case) -> Story | None:
    update = last_update(case)
    growth = (update.growth or case.grew_over_steps) if update is not None else None
    if update is None or growth is None:
        return None
    rate = f" (learning rate {update.rate:.3g})" if update.rate is not None else ""
    why = (
        f"updates the weights by too much{rate}: {_what(case, update)} grew about {growth.rate:.3g}× a step from step "
        f"{growth.began} on, from {growth.first:.3g} to {growth.last:.3g}, until {case.op} overflowed"
    )
    confidence = 0.92 if update.growth is not None else 0.85
    return Story(
        "learning-rate", confidence, why, _advice(growth.rate), frame=update.frame, evidence=tuple(update.weights[:2])
    )


def _what(case: Case, update: Update) -> str:
    return update.name if update.growth is not None else _named(case.largest_input)


def _named(one: Observed | None) -> str:
    return one.tensor.name if one is not None else "activations"


_RECURRENCE = "keep the state bounded: tanh, a gated cell (LSTM, GRU), an orthogonal or smaller recurrent matrix"


def _advice(rate: float) -> str:
    """A step that multiplies the error by `rate` is (rate + 1) / 2 times as long as plain descent allows."""
    lower = 10 ** max(1, math.ceil(math.log10((rate + 1) / 2)))
    return (
        f"lower the learning rate ({lower:,}×, to begin with), clip gradients (tf.clip_by_global_norm), or normalise "
        "the inputs and the layers"
    )
