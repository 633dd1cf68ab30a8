"""Outcomes of replaying a call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ReplayOutcome(Enum):
    """The result of replaying a call that went bad."""

    AGAIN = "again"  # it went bad again, and was seen
    UNCOMPILED = "uncompiled"  # the same, of a function that XLA compiles
    COMPILED = "compiled"  # it went bad again only when it was compiled
    NOT_REPRODUCED = "not reproduced"  # it did not
    NOT_RUN = "not run"  # it could not be run again


@dataclass(frozen=True, slots=True)
class Replay:
    """A call that was run again."""

    call: int
    outcome: ReplayOutcome
    function: str
    why: str | None  # where it was not reproduced
