"""Describes in words how two tensors differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_COUNTS = {"nan": "NaN", "negInf": "−∞", "posInf": "+∞", "neg": "negative", "zero": "zero", "pos": "positive"}
_STATISTICS = ("min", "max", "mean", "std")
MAX_REASONS = 3


def difference_words(here: dict[str, Any], there: dict[str, Any]) -> str:
    """Return the differences of two rows, the most important first: `64 NaN here, 0 there; max 2.5 here, 7 there`."""
    return "; ".join(list(_reasons(here, there))[:MAX_REASONS]) or "the bits of its numbers differ"


def _reasons(here: dict[str, Any], there: dict[str, Any]) -> Iterator[str]:
    if here["dtype"] != there["dtype"]:
        yield f"{here['dtype']} here, {there['dtype']} there"
    if None not in (here["shape"], there["shape"]) and here["shape"] != there["shape"]:
        yield f"shape {here['shape']} here, {there['shape']} there"
    one, other = here["health"], there["health"]
    if one["bad"] != other["bad"] and -1 in (one["nan"], other["nan"]):
        yield "bad here, healthy there" if one["bad"] else "healthy here, bad there"
    for name, word in _COUNTS.items():
        if one[name] != other[name] and -1 not in (one[name], other[name]):
            yield f"{one[name]:,} {word} here, {other[name]:,} there"
    for name in _STATISTICS:
        if one[name] != other[name] and (one[name] is not None and other[name] is not None):
            yield f"{name} {_two_numbers(one[name], other[name])}"


def _two_numbers(here: float, there: float) -> str:
    """Return two numbers with as few digits as show the difference."""
    for digits in (4, 7, 10, 17):
        one, other = f"{here:.{digits}g}", f"{there:.{digits}g}"
        if one != other:
            break
    return f"{one} here, {other} there"
