"""Evaluates conditions in Python: the fallback without the native library, and the reference in its tests."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensorsleuth.core.layout.rows import NO_INDEX
from tensorsleuth.live.breakpoints.condition import Condition
from tensorsleuth.live.breakpoints.condition_words import WORDS, ConditionCode
from tensorsleuth.native.numpy_health import TensorHealth

_NAMES = tuple(WORDS)


@dataclass(frozen=True)
class TensorFacts:
    """The facts about a tensor when a condition judges it."""

    health: TensorHealth
    shape: tuple[int, ...]
    dtype: int
    bytes: int
    step: int
    iteration: float = math.nan
    change: float = math.nan

    def word(self, name: str) -> float:
        """Return the value of a word of a condition."""
        known = self._measured()
        return float(known[name] if name in known else getattr(self, name))

    def _measured(self) -> dict[str, float]:
        health = self.health
        infinite = health.pos_inf + health.neg_inf
        largest = max(abs(health.min), abs(health.max)) if not math.isnan(health.min) else math.nan
        return {
            "bad": health.first_bad != int(NO_INDEX),
            **{name: getattr(health, name) for name in ("nan", "pos_inf", "neg_inf", "neg", "zero", "pos")},
            "inf": infinite,
            "min": -math.inf if health.neg_inf else health.min,
            "max": math.inf if health.pos_inf else health.max,
            "abs_max": math.inf if infinite else largest,
            "mean": health.mean,
            "std": health.std,
            "norm": norm(health),
            "size": health.elements,
            "rank": len(self.shape),
        }


def norm(tensor_health: TensorHealth) -> float:
    """Return the Euclidean norm; NaN if any value is NaN."""
    if tensor_health.nan or tensor_health.pos_inf or tensor_health.neg_inf:
        return math.nan if tensor_health.nan else math.inf
    finite = tensor_health.neg + tensor_health.zero + tensor_health.pos
    return math.sqrt(finite) * math.hypot(tensor_health.mean, tensor_health.std) if finite else 0.0


def holds(condition: Condition, tensor_facts: TensorFacts) -> bool:
    """Return whether a condition holds for a tensor."""
    stack: list[float] = []
    for code, value in condition.code:
        if code is ConditionCode.CONSTANT:
            stack.append(value)
        elif code is ConditionCode.WORD:
            stack.append(tensor_facts.word(_NAMES[int(value)]))
        elif code is ConditionCode.DIMENSION:
            stack.append(_dimension(tensor_facts.shape, int(value)))
        elif code in (ConditionCode.MINUS, ConditionCode.NOT):
            stack.append(-stack.pop() if code is ConditionCode.MINUS else float(not _is_true(stack.pop())))
        else:
            right = stack.pop()
            stack.append(float(_COMBINE[code](stack.pop(), right)))
    return _is_true(stack[0])


def _is_true(value: float) -> bool:
    return value != 0 and not math.isnan(value)


def _dimension(shape: Sequence[int], at: int) -> float:
    at = at + len(shape) if at < 0 else at
    return float(shape[at]) if 0 <= at < min(len(shape), 8) else math.nan


_COMBINE: dict[ConditionCode, Callable[[float, float], float]] = {
    ConditionCode.ADD: operator.add,
    ConditionCode.SUBTRACT: operator.sub,
    ConditionCode.TIMES: operator.mul,
    ConditionCode.DIVIDE: lambda a, b: a / b if b else math.nan,
    ConditionCode.LESS: operator.lt,
    ConditionCode.LESS_EQUAL: operator.le,
    ConditionCode.GREATER: operator.gt,
    ConditionCode.GREATER_EQUAL: operator.ge,
    ConditionCode.EQUAL: operator.eq,
    ConditionCode.NOT_EQUAL: lambda a, b: a < b or a > b,  # False for a missing dimension, which is NaN
    ConditionCode.AND: lambda a, b: _is_true(a) and _is_true(b),
    ConditionCode.OR: lambda a, b: _is_true(a) or _is_true(b),
}
