"""The parsed arguments of `expect`, and their description in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.core.violation import OnViolation, format_value

Increasing = bool | Literal["or equal"]
Dim = Any  # int, str, None or ...
ON_VIOLATION = ("raise", "warn", "record")
# In the order of judging. If several rules are broken, we report the first.
RULES = ("dtype", "rank", "shape", "max_elements", "finite", "between", "one_of", "increasing", "sums_to", "that")
VALUE_RULES = RULES[4:]
MAX_DIMS, MAX_RANKS = 16, 8
RAGGED = -1  # the size of a dimension if its rows differ in length
# The tolerance of sums, relative to the expected sum if that exceeds 1.
TOLERANCE, COARSE_TOLERANCE = 1e-4, 1e-2
COARSE_DTYPES = ("float16", "bfloat16", "float8")
_DTYPES = {dtype.name for dtype in DTYPES.values()}


@dataclass(frozen=True)
class Expectation:
    """An expectation. It is hashable, and equal arguments make equal expectations."""

    dtype: tuple[str, ...] = ()
    rank: tuple[int, ...] = ()
    shape: tuple[Dim, ...] | None = None
    finite: bool = False
    between: tuple[float, float] | None = None
    one_of: tuple[Any, ...] | None = None
    sums_to: float | None = None
    increasing: Increasing = False
    max_elements: int | None = None
    that: Callable[[Any], Any] | None = None
    axis: int = -1
    tolerance: float | None = None
    name: str | None = None
    on_violation: OnViolation = "raise"

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """Return the rules in use, in the order of RULES."""
        return tuple(rule for rule in RULES if getattr(self, rule) != getattr(_NOTHING, rule))

    @cached_property
    def value_rules(self) -> tuple[str, ...]:
        """Return the rules in use that need the values."""
        return tuple(rule for rule in self.rules if rule in VALUE_RULES)

    def values_only(self) -> Expectation:
        """Return the expectation without the rules on dtype and shape."""
        return replace(self, dtype=(), rank=(), shape=None, max_elements=None)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the named dimensions."""
        return tuple(dim for dim in self.shape or () if isinstance(dim, str))

    @property
    def least_rank(self) -> int:
        """Return the least rank for which the axis exists."""
        if self.sums_to is None and not self.increasing:
            return 0
        needed = self.axis + 1 if self.axis >= 0 else -self.axis
        return needed if needed > 1 else 0  # a scalar counts as one row with one value

    def tolerance_for(self, dtype: str) -> float:
        """Return the allowed deviation of a sum."""
        if self.tolerance is not None:
            return self.tolerance
        close = COARSE_TOLERANCE if dtype.startswith(COARSE_DTYPES) else TOLERANCE
        return close * max(1.0, abs(self.sums_to or 0.0))

    def words(self, rule: str) -> str:
        """Describe a rule as it reads after "expected"."""
        return str(_WORDS[rule](self))


_NOTHING = Expectation()


def _along(expected: Expectation) -> str:
    return "" if expected.axis == -1 else f" along axis {expected.axis}"


def _between(expected: Expectation) -> str:
    low, high = expected.between or (-math.inf, math.inf)
    if math.isinf(high):
        return f"values of {format_value(low)} or more"
    return (
        f"values of {format_value(high)} or less"
        if math.isinf(low)
        else f"values between {format_value(low)} and {format_value(high)}"
    )


def _one_of(expected: Expectation) -> str:
    choices = [format_value(choice) for choice in expected.one_of or ()]
    return f"one of {', '.join(choices[:8])}{', …' if len(choices) > 8 else ''}"


def dims_words(shape: Iterable[Dim]) -> str:
    """Return a shape as `[batch, 128, …]`, with a star for a dimension of any size."""
    words = ("…" if dim is ... else "*" if dim is None else "ragged" if dim == RAGGED else str(dim) for dim in shape)
    return f"[{', '.join(words)}]"


_WORDS: dict[str, Callable[[Expectation], str]] = {
    "dtype": lambda expected: " or ".join(expected.dtype),
    "rank": lambda expected: f"rank {' or '.join(map(str, expected.rank))}" if expected.rank else _axis(expected),
    "shape": lambda expected: f"shape {dims_words(expected.shape or ())}",
    "max_elements": lambda expected: f"at most {expected.max_elements:,} element{'s' * (expected.max_elements != 1)}",
    "finite": lambda expected: "finite values",
    "between": _between,
    "one_of": _one_of,
    "increasing": lambda expected: (
        f"values that increase{' or stay equal' if expected.increasing == 'or equal' else ''}{_along(expected)}"
    ),
    "sums_to": lambda expected: f"sums of {format_value(expected.sums_to)}{_along(expected)}",
    "that": lambda expected: f"{_called(expected.that)} to be True",
}


def _axis(expected: Expectation) -> str:
    return f"rank {expected.least_rank} or more, to have an axis {expected.axis}"


def _called(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "the function `that`" if name == "<lambda>" else f"{name}(x)"


@lru_cache(maxsize=256)
def dtype_name(dtype: Any) -> str:
    """Return TensorFlow's name for a dtype or the name of one. Raise TypeError if it is unknown."""
    if isinstance(dtype, str):
        return dtype if dtype in _DTYPES else np.dtype(dtype).name
    name = getattr(dtype, "name", None)  # set for TensorFlow and NumPy
    return name if isinstance(name, str) else np.dtype(dtype).name
