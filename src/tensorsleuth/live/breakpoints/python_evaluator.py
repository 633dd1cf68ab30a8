"""Runs conditions in Python: for where there is no native library, and to hold that to its word."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensorsleuth.core.layout.rows import NO_INDEX
from tensorsleuth.live.breakpoints.condition import Condition
from tensorsleuth.live.breakpoints.condition_words import WORDS, Code
from tensorsleuth.native.numpy_health import Health

_NAMES = tuple(WORDS)


@dataclass(frozen=True)
class Facts:
    """The facts about a tensor when it is judged."""

    health: Health
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


def norm(health: Health) -> float:
    """The Euclidean norm; NaN where a value is."""
    if health.nan or health.pos_inf or health.neg_inf:
        return math.nan if health.nan else math.inf
    finite = health.neg + health.zero + health.pos
    return math.sqrt(finite) * math.hypot(health.mean, health.std) if finite else 0.0


def holds(condition: Condition, facts: Facts) -> bool:
    """Return whether a condition holds of a tensor."""
    stack: list[float] = []
    for code, value in condition.code:
        if code is Code.CONSTANT:
            stack.append(value)
        elif code is Code.WORD:
            stack.append(facts.word(_NAMES[int(value)]))
        elif code is Code.DIMENSION:
            stack.append(_dimension(facts.shape, int(value)))
        elif code in (Code.MINUS, Code.NOT):
            stack.append(-stack.pop() if code is Code.MINUS else float(not _true(stack.pop())))
        else:
            right = stack.pop()
            stack.append(float(_COMBINE[code](stack.pop(), right)))
    return _true(stack[0])


def _true(value: float) -> bool:
    return value != 0 and not math.isnan(value)


def _dimension(shape: Sequence[int], at: int) -> float:
    at = at + len(shape) if at < 0 else at
    return float(shape[at]) if 0 <= at < min(len(shape), 8) else math.nan


_COMBINE: dict[Code, Callable[[float, float], float]] = {
    Code.ADD: operator.add,
    Code.SUBTRACT: operator.sub,
    Code.TIMES: operator.mul,
    Code.DIVIDE: lambda a, b: a / b if b else math.nan,
    Code.LESS: operator.lt,
    Code.LESS_EQUAL: operator.le,
    Code.GREATER: operator.gt,
    Code.GREATER_EQUAL: operator.ge,
    Code.EQUAL: operator.eq,
    Code.NOT_EQUAL: lambda a, b: a < b or a > b,  # what is not there is neither
    Code.AND: lambda a, b: _true(a) and _true(b),
    Code.OR: lambda a, b: _true(a) or _true(b),
}
