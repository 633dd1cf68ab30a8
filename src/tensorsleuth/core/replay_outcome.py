"""Outcomes of replaying a call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ReplayOutcome(Enum):
    """The result of replaying a call that went bad."""

    AGAIN = "again"  # it went bad again, and was recorded
    UNCOMPILED = "uncompiled"  # the same, for a function that XLA compiles
    COMPILED = "compiled"  # it went bad again only compiled
    NOT_REPRODUCED = "not reproduced"  # it did not go bad again
    NOT_RUN = "not run"  # it could not be replayed


@dataclass(frozen=True, slots=True)
class Replay:
    """A call that was replayed."""

    call: int
    outcome: ReplayOutcome
    function: str
    why: str | None  # if it was not reproduced
