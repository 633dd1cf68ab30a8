"""The interval at which variables written by a replayable call are checked.

What is written is looked at on its way, in the function, where it is still in the cache. The variables themselves tell
how weights grew over steps: a look at some of the steps is enough, and at each while something is on the move.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

ALWAYS_READ_CALLS = 8  # calls of a function, each looked at
READ_EVERY = 8
GROWTH_TO_READ = 2.0  # times the size that a result had when the variables were looked at last


class ReadInterval:
    """Decides after each call of one function."""

    def __init__(self) -> None:
        self._calls = 0
        self._sizes: list[float] = []

    def is_due(self, outputs: Iterable[Any]) -> bool:
        """Is this call one after which to look; `outputs` are the numbers that it returned."""
        sizes = [abs(float(output)) for output in outputs if output.ndim == 0]
        self._calls += 1
        due = self._calls <= ALWAYS_READ_CALLS or self._calls % READ_EVERY == 0 or self._moved(sizes)
        if due:
            self._sizes = sizes
        return due

    def _moved(self, sizes: list[float]) -> bool:
        pairs = zip(sizes, self._sizes)
        return any(now > GROWTH_TO_READ * before or not math.isfinite(now) for now, before in pairs)
