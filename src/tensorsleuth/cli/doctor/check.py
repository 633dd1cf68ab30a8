"""One check of this machine, and whether recording works with its result."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CheckState(Enum):
    """The result of a check. Only BAD prevents a recording."""

    GOOD = "good"
    POOR = "poor"
    BAD = "bad"


@dataclass(frozen=True)
class MachineCheck:
    name: str
    state: CheckState
    text: str
