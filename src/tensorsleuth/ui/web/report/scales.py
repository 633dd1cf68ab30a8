"""Maps numbers to positions in a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_LINEAR_RATIO = 1000.0  # a range wider than this many times its median is drawn on a logarithmic scale


@dataclass(frozen=True)
class AxisScale:
    """Maps low … high to begin … end. With `bend`, sizes well above it are drawn logarithmically, of either sign."""

    low: float
    high: float
    begin: float
    end: float
    bend: float | None = None

    def __call__(self, value: float) -> float:
        low, high = self._bent(self.low), self._bent(self.high)
        share = (self._bent(value) - low) / (high - low) if high > low else 0.5
        return round(self.begin + share * (self.end - self.begin), 2)

    def _bent(self, value: float) -> float:
        return value if self.bend is None else math.asinh(value / self.bend)

    def ticks(self, count: int = 4) -> list[float]:
        """Return round numbers from low to high."""
        if self.bend is not None:
            return self._steep_ticks(count)
        if not self.high > self.low:
            return [self.low]
        rough = (self.high - self.low) / count
        unit = 10 ** math.floor(math.log10(rough))
        step = next(unit * times for times in (1, 2, 2.5, 5, 10) if unit * times >= rough)
        first = math.ceil(self.low / step)
        return [step * n for n in range(first, math.floor(self.high / step) + 1)]

    def _steep_ticks(self, count: int) -> list[float]:
        """Return powers of ten at even distances, of each sign that occurs."""
        assert self.bend is not None
        top = math.log10(max(abs(self.low), abs(self.high)))
        bottom = math.log10(self.bend)
        powers = [10.0 ** round(bottom + (top - bottom) * n / count) for n in range(1, count + 1)]
        signed = [0.0, *powers, *(-power for power in powers)]
        return sorted({tick for tick in signed if self.low <= tick <= self.high})


def make_scale(series: Iterable[Sequence[float | None]], begin: float, end: float) -> AxisScale:
    """Return a scale for all numbers, logarithmic if the largest would flatten the others."""
    known = [[value for value in values if value is not None and math.isfinite(value)] for values in series]
    finite = [value for values in known for value in values]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    largest = max(known, key=lambda values: max(map(abs, values), default=0.0), default=[])
    sizes = sorted(abs(value) for value in largest if value)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    steep = middle > 0 and max(abs(low), abs(high)) / middle > MAX_LINEAR_RATIO
    if low == high:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    return AxisScale(low, high, begin, end, middle if steep else None)


def tick_label(value: float) -> str:
    """Return a short label: 0.25, 1,200, 3e+38."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.3g}"
