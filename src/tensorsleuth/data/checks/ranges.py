"""Checks that values lie in the declared range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature
from tensorsleuth.data.tally import Tally

INFINITY: float = float("inf")


class OutOfRangeTally(Tally):
    """The values outside the range, and the extremes among them."""

    low: float = INFINITY
    high: float = -INFINITY


class RangesCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return feature.between is not None and piece.numeric and piece.array.dtype.kind != "c"

    def new_state(self, feature: Feature, piece: Piece) -> OutOfRangeTally:
        return OutOfRangeTally()

    def inspect(self, state: OutOfRangeTally, feature: Feature, piece: Piece) -> None:
        state.total += piece.array.size
        seen = piece.range
        if seen is None:
            return
        low, high = bounds(feature, piece)
        state.low, state.high = min(state.low, seen[0]), max(state.high, seen[1])
        if seen[0] < low or seen[1] > high:
            self._count(state, piece, low, high)

    def _count(self, state: OutOfRangeTally, piece: Piece, low: float, high: float) -> None:
        groups = (piece.health["min"] < low) | (piece.health["max"] > high)
        if not groups.any():  # doubles rounded a large integer into the range
            groups[:] = True
        for first, rows in piece.rows_where(groups):
            with np.errstate(invalid="ignore"):
                outside = (rows < low) | (rows > high)
            state.add(piece, rows, outside & np.isfinite(rows) if rows.dtype.kind in "fV" else outside, first)

    def judge(self, name: str, feature: Feature, state: OutOfRangeTally) -> Iterator[Violation]:
        if state.broken:
            low, high = format_value(state.low), format_value(state.high)
            found = f"values from {low} to {high}" if low != high else f"values of {low}"
            change = _advice(feature.bounds, state.low, state.high)
            yield Violation(
                "between",
                name,
                f"values {range_text(feature.bounds)}",
                found,
                change=change,
                **state.violation_fields(),
            )


def bounds(feature: Feature, piece: Piece) -> tuple[float, float]:
    """Return the range in the data's type: a float32 of 0.1 does not exceed 0.1."""
    low, high = feature.bounds
    if piece.array.dtype.kind not in "fV":
        return low, high
    with np.errstate(over="ignore"):
        return float(piece.array.dtype.type(low)), float(piece.array.dtype.type(high))


def range_text(between: tuple[float, float]) -> str:
    """Return a text such as `between 0 and 1` or `of 0 or more`."""
    low, high = between
    if low == -INFINITY:
        return "of any size" if high == INFINITY else f"of {format_value(high)} or less"
    return (
        f"of {format_value(low)} or more"
        if high == INFINITY
        else f"between {format_value(low)} and {format_value(high)}"
    )


def _advice(between: tuple[float, float], low: float, high: float) -> str:
    least, greatest = float(between[0]), float(between[1])
    if greatest == 1.0 and low >= 0 and 2 < high <= 255:
        scale = "x / 255" if least == 0.0 else "x / 127.5 - 1"
        return f"It looks like bytes that were not scaled: {scale}."
    if least == 0.0 and greatest == 1.0 and low >= -1 and high <= 1:
        return "It looks scaled to -1 … 1: (x + 1) / 2, or change the schema."
    return "Find out where these come from. Clip or drop them, or change the schema."


CHECK = RangesCheck
