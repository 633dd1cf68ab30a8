"""One thing that was looked at on this machine, and whether recording works with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CheckState(Enum):
    """The result of a check; only BAD keeps a program from being recorded."""

    GOOD = "good"
    POOR = "poor"
    BAD = "bad"


@dataclass(frozen=True)
class MachineCheck:
    name: str
    state: CheckState
    text: str
