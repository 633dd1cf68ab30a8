"""The interval at which variables written by a replayable call are checked.

A variable that went bad stays bad, so a later reading finds it, and the calls since the reading before show where it
began. Reading the variables also shows how weights grow over steps. For that, some of the steps suffice, or all steps
while a result grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

ALWAYS_READ_CALLS = 8  # the first calls of a function, all of which are read
READ_EVERY = 8
MANY_CALLS, READ_RARELY = 64, 32  # after so many calls, read more rarely if the calls are short
SHORT_CALLS = 1_000_000_000  # nanoseconds for READ_RARELY calls: a replay may have to run them all again
GROWTH_TO_READ = 2.0  # read again when a result has grown by this factor since the latest reading


class ReadInterval:
    """Decides after each call of one function whether to read its variables."""

    def __init__(self) -> None:
        self._calls = 0
        self._taken = 0  # nanoseconds of the calls since the latest reading
        self._sizes: list[float] = []

    def is_due(self, took: int, outputs: Iterable[Any]) -> bool:
        """Return whether to read the variables after this call. `outputs` are its numeric results."""
        sizes = [abs(float(output)) for output in outputs if output.ndim == 0]
        self._calls += 1
        self._taken += took
        due = self._calls <= ALWAYS_READ_CALLS or self._is_turn() or self._moved(sizes)
        if due:
            self._sizes, self._taken = sizes, 0
        return due

    def _is_turn(self) -> bool:
        rarely = self._calls > MANY_CALLS and self._taken < SHORT_CALLS
        return self._calls % (READ_RARELY if rarely else READ_EVERY) == 0

    def _moved(self, sizes: list[float]) -> bool:
        pairs = zip(sizes, self._sizes)
        return any(now > GROWTH_TO_READ * before or not math.isfinite(now) for now, before in pairs)
