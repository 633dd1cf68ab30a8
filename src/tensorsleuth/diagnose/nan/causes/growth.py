"""Weights or activations that grew, step by step or within a loop, until an op overflowed."""

from __future__ import annotations

import math

from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.history import ValueGrowth
from tensorsleuth.diagnose.nan.last_update import WeightUpdate, last_update
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

NEEDS = Need.FUNCTIONS | Need.VARIABLES
MAX_RATE_ADVICE = 1_000  # times lower: more is never what to change


def match(case: Case) -> Explanation | None:
    if (
        case.origin.from_outside
        or case.origin.from_infinity
        or not (case.has_large_inputs or case.variable_write is not None)
    ):
        return None
    if case.grew_in_loop is not None and not case.out.is_half:
        return _recurrence(case, case.grew_in_loop)
    return _training(case)


def _recurrence(case: Case, value_growth: ValueGrowth) -> Explanation:
    why = (
        f"overflows in a loop that grew its state {value_growth.rate:.3g}× each iteration, from iteration "
        f"{value_growth.start} on ({value_growth.first_size:.3g} to {value_growth.last_size:.3g} at iteration "
        f"{value_growth.end})"
    )
    return Explanation("exploding-recurrence", 0.94, why, _RECURRENCE)


def _training(case: Case) -> Explanation | None:
    update = last_update(case)
    growth = (update.growth or case.grew_over_steps) if update is not None else None
    if update is None or growth is None:
        return None
    rate = f" (learning rate {update.learning_rate:.3g})" if update.learning_rate is not None else ""
    why = (
        f"updates the weights by too much{rate}: {_grown_name(case, update)} grew about {growth.rate:.3g}× a step from "
        f"step {growth.start} on, from {growth.first_size:.3g} to {growth.last_size:.3g}, until {case.op} overflowed"
    )
    confidence = 0.92 if update.growth is not None else 0.85
    return Explanation(
        "learning-rate", confidence, why, _advice(growth.rate), frame=update.frame, evidence=tuple(update.weights[:2])
    )


def _grown_name(case: Case, weight_update: WeightUpdate) -> str:
    return weight_update.name if weight_update.growth is not None else _named(case.largest_input)


def _named(one: ObservedTensor | None) -> str:
    return one.tensor.name if one is not None else "activations"


_RECURRENCE = "keep the state bounded: tanh, a gated cell (LSTM, GRU), an orthogonal or smaller recurrent matrix"


def _advice(rate: float) -> str:
    """Return the fix. A step that multiplies the error by `rate` is (rate + 1) / 2 times too long."""
    lower = 10 ** max(1, math.ceil(math.log10((rate + 1) / 2)))
    if lower > MAX_RATE_ADVICE:  # no rate is that wrong: what is multiplied with it is
        return (
            "scale what goes in and what is predicted to about −1 … 1 first: no learning rate mends steps that grow so "
            "fast; then lower the rate, or clip gradients (tf.clip_by_global_norm)"
        )
    return (
        f"lower the learning rate ({lower:,}×, to begin with), clip gradients (tf.clip_by_global_norm), or normalise "
        "the inputs and the layers"
    )
