"""What a row of the table is, and what it is given to measure with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Result = dict[str, Any]
"""Numbers by variant ("bare", "ours", a peer), and what else is worth keeping in the JSON."""


@dataclass(frozen=True)
class Bench:
    """A folder to use up, a way to say how far it got, and how many rounds the user asked for."""

    folder: Path
    progress: Callable[[str], None]
    asked_rounds: int | None = None
    quick: bool = False

    def rounds(self, usual: int) -> int:
        return self.asked_rounds or (max(3, usual // 5) if self.quick else usual)


@dataclass(frozen=True)
class Row:
    """One figure and the limit that it must keep."""

    name: str
    what: str
    limit: float
    measure: Callable[[Bench], Result]
    unit: str = "x"
    at_least: bool = False

    def run(self, bench: Bench) -> Result:
        """Measure, and judge. A row that breaks is reported as such: the others still count."""
        try:
            measured = self.measure(bench)
        except Exception as error:
            measured = {"failed": {"row": repr(error)}}
        result = {"what": self.what, "unit": self.unit, "ours": None} | measured
        return result | {"limit": self.limit, "met": self._met(result)}

    def _met(self, result: Result) -> bool:
        ours = result["ours"]
        if ours is None or not result.get("bounded", True):
            return False
        return bool(ours >= self.limit if self.at_least else ours <= self.limit)
