"""Weights or activations that grew, step by step or within a loop, until an op overflowed."""

from __future__ import annotations

import math

from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.history import ValueGrowth
from tensorsleuth.diagnose.nan.last_update import WeightUpdate, jump_at, last_update
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

NEEDS = Need.FUNCTIONS | Need.VARIABLES | Need.REPEATED_OPS
MIN_CALLS = 4  # of one line, each with larger numbers than the one before
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
    if update is None or growth is None or (update.growth is None and growth.unit == "call"):
        return _python_loop(case)
    rate = f" (learning rate {update.learning_rate:.3g})" if update.learning_rate is not None else ""
    jump = jump_at(update, growth.start)
    why = (
        f"updates the weights by too much{rate}: {f'{jump}, and ' if jump is not None else ''}"
        f"{_grown_name(case, update)} grew {_growth_words(growth)}, until {case.op} overflowed"
    )
    confidence = 0.92 if update.growth is not None else 0.85
    return Explanation(
        "learning-rate",
        confidence,
        why,
        _JUMPED if jump is not None else _advice(growth.rate),
        frame=jump.frame if jump is not None else update.frame,
        evidence=tuple(update.weights[:2]),
        is_timed=growth.unit == "step",
    )


def _python_loop(case: Case) -> Explanation | None:
    """A loop of the program, without variables, that feeds its result back."""
    growth = case.grew_over_steps
    if growth is None or growth.unit != "call" or growth.end - growth.start < MIN_CALLS:
        return None
    why = (
        f"overflows in a loop that grew {_named(case.largest_input)} about {growth.rate:.3g}× each time, from "
        f"{growth.first_size:.3g} to {growth.last_size:.3g} in {growth.end - growth.start} calls of this line"
    )
    return Explanation("exploding-recurrence", 0.9, why, _FED_BACK, is_timed=False)


def _growth_words(value_growth: ValueGrowth) -> str:
    """`about 3.1× a step from step 4 on, from 0.2 to 1.4e+19`"""
    sizes = f"from {value_growth.first_size:.3g} to {value_growth.last_size:.3g}"
    if value_growth.end - value_growth.start <= 1:
        return f"{sizes} in one {value_growth.unit}"
    unit = value_growth.unit
    return f"about {value_growth.rate:.3g}× a {unit} from {unit} {value_growth.start} on, {sizes}"


def _grown_name(case: Case, weight_update: WeightUpdate) -> str:
    return weight_update.name if weight_update.growth is not None else _named(case.largest_input)


def _named(one: ObservedTensor | None) -> str:
    return one.tensor.name if one is not None else "activations"


_BOUNDED = "clip gradients (tf.clip_by_global_norm), or normalise the inputs and the layers"
_JUMPED = "set the learning rate to a smaller number here, or raise it in small steps (a warm-up)"
_FED_BACK = "take smaller steps if it is a descent (a lower learning rate), or keep what is fed back bounded"
_RECURRENCE = "keep the state bounded: tanh, a gated cell (LSTM, GRU), an orthogonal or smaller recurrent matrix"


def _advice(rate: float) -> str:
    """Return the fix. A step that multiplies the error by `rate` is (rate + 1) / 2 times too long."""
    lower = 10 ** max(1, math.ceil(math.log10((rate + 1) / 2)))
    if lower > MAX_RATE_ADVICE:
        return f"lower the learning rate by far, {_BOUNDED}"
    return f"lower the learning rate ({lower:,}×, to begin with), {_BOUNDED}"
