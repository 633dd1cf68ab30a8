"""Numbers over the steps as coloured cells on one logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from tensorsleuth.analyze.layers.curves import LayerCurve
from tensorsleuth.core.formatting import UNKNOWN
from tensorsleuth.ui.terminal.charts.heat_map import COLOR_RAMP
from tensorsleuth.ui.terminal.charts.sparkline import BARS


def short_number(number: float, digits: int = 3) -> str:
    """Return a text such as 0.0312, 12.5 or 1e-07: at most 8 letters with a sign, or 7 for two digits."""
    if not math.isfinite(number):
        return UNKNOWN
    if 10**digits <= abs(number) < 1e4:
        return f"{number:.0f}"
    return f"{number:.{digits}g}" if number == 0 or 1e-3 <= abs(number) < 1e4 else f"{number:.0e}"


@dataclass(frozen=True)
class LogScale:
    """A logarithmic scale from the smallest to the largest number."""

    low: float
    high: float

    @classmethod
    def for_curves(cls, layer_curves: Sequence[LayerCurve]) -> LogScale:
        numbers = np.concatenate([np.zeros(0), *(one.numbers for one in layer_curves)])
        known = numbers[np.isfinite(numbers) & (numbers > 0)]
        return cls(float(known.min()), float(known.max())) if len(known) else cls(1.0, 1.0)

    def share(self, number: float) -> float:
        """Return the position of a number: 0 for the smallest, 1 for the largest."""
        if self.high <= self.low:
            return 0.5
        return (math.log(number) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))

    def legend(self, what: str) -> Text:
        text = Text(f" {what}: ", "not bold dim")
        text.append(BARS[0], f"not dim {COLOR_RAMP[1]}").append(f" {short_number(self.low)} … ")
        return text.append(BARS[-1], f"not dim {COLOR_RAMP[-1]}").append(f" {short_number(self.high)}, logarithmic")

    def cell(self, number: float, bad: bool) -> tuple[str, str]:
        """Return the mark of a number by height and colour: × is NaN or infinite, a dot zero, a space unknown."""
        if bad:
            return "×", "bold red"
        if not math.isfinite(number):
            return " ", ""
        if number <= 0:
            return "·", "dim"
        share = min(max(self.share(number), 0.0), 1.0)
        return BARS[round(share * (len(BARS) - 1))], COLOR_RAMP[1 + round(share * (len(COLOR_RAMP) - 2))]


def draw_cells(text: Text, layer_curve: LayerCurve, log_scale: LogScale, room: int) -> None:
    """Draw one cell for each sample, oldest first. If there are too many, draw some at even intervals and the last."""
    many = len(layer_curve.steps)
    looks = [at * (many - 1) // max(room - 1, 1) for at in range(room)] if many > room else range(many)
    for at in looks:
        text.append(*log_scale.cell(float(layer_curve.numbers[at]), bool(layer_curve.bad[at])))
