"""What a row of the table is, and what it is given to measure with."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Result = dict[str, Any]
"""Numbers by variant ("bare", "ours", a peer), and what else is worth keeping in the JSON."""

LONGEST_ERROR = 160


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
    """One figure, the limit that it must keep, and why it does not where that is known."""

    name: str
    what: str
    limit: float
    measure: Callable[[Bench], Result]
    unit: str = "x"
    at_least: bool = False
    why: str = ""

    def run(self, bench: Bench) -> Result:
        """Measure. A row that breaks is reported as such: the others still count."""
        start = time.perf_counter()
        try:
            measured = self.measure(bench)
        except Exception as error:
            measured = {"failed": {"row": repr(error)}}
        taken = {"seconds": time.perf_counter() - start}
        failed = {variant: in_short(text) for variant, text in measured.get("failed", {}).items()}
        return {"what": self.what, "unit": self.unit, "ours": None} | measured | {"failed": failed} | taken

    def is_met(self, result: Result) -> bool:
        """Tell whether a result keeps the limit; one that could not be measured does not."""
        ours = result["ours"]
        if ours is None or not result.get("bounded", True):
            return False
        return bool(ours >= self.limit if self.at_least else ours <= self.limit)


def in_short(error: str) -> str:
    """Return the first line of an error, without the folders of this machine: it goes into a file that others read."""
    line = next(iter(error.splitlines()), "")
    return re.sub(r"(?<![\w.])/[\w.+~-]+(?:/[\w.+~-]+)*/", "", line)[:LONGEST_ERROR]
