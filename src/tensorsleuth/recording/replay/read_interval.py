"""The interval at which variables written by a replayable call are checked.

Probes check a written value inside the function, where it is still in the cache. Reading the variables as well shows
how weights grow over steps. For that, some of the steps suffice, or all steps while a result grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

ALWAYS_READ_CALLS = 8  # the first calls of a function, all of which are read
READ_EVERY = 8
GROWTH_TO_READ = 2.0  # read again when a result has grown by this factor since the latest reading


class ReadInterval:
    """Decides after each call of one function whether to read its variables."""

    def __init__(self) -> None:
        self._calls = 0
        self._sizes: list[float] = []

    def is_due(self, outputs: Iterable[Any]) -> bool:
        """Return whether to read the variables after this call. `outputs` are its numeric results."""
        sizes = [abs(float(output)) for output in outputs if output.ndim == 0]
        self._calls += 1
        due = self._calls <= ALWAYS_READ_CALLS or self._calls % READ_EVERY == 0 or self._moved(sizes)
        if due:
            self._sizes = sizes
        return due

    def _moved(self, sizes: list[float]) -> bool:
        pairs = zip(sizes, self._sizes)
        return any(now > GROWTH_TO_READ * before or not math.isfinite(now) for now, before in pairs)
