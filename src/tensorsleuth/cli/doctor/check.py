"""One thing that was looked at on this machine, and whether recording works with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """The result of a check; only BAD keeps a program from being recorded."""

    GOOD = "good"
    POOR = "poor"
    BAD = "bad"


@dataclass(frozen=True)
class Check:
    name: str
    state: State
    text: str
