"""Series, each with the samples of one watched tensor or variable, and the messages that a program logged."""

from __future__ import annotations

import os
from dataclasses import dataclass

MAX_MESSAGE_LENGTH = 200  # letters of a message beside a finding
SERIES_KINDS = ("tensor", "variable", "gradient", "update", "point")
OF_LAYER_STATS = "inside"


@dataclass(frozen=True, slots=True)
class Series:
    """A watched tensor or variable, which rows of watched.bin refer to."""

    number: int
    kind: str  # one of SERIES_KINDS
    name: str  # the name of the op or the variable, or the program's own name
    file: str | None = None
    line: int | None = None
    owner: str | None = None  # "inside" for layer statistics, which nobody requested; see docs/inside.md
    trains: bool = True  # whether the function that computes it trains
    op: str | None = None  # for layer statistics in a function: the name of the op
    by: str | None = None  # "replay" if the sample comes from a replayed call
    activation: str | None = None  # of a layer's output: its last op, if that is one of core.ops.activations

    @property
    def tag(self) -> str:
        """Return the name to use in a list of all kinds."""
        return f"{self.kind}/{self.name}" if self.kind in ("gradient", "update") else self.name


@dataclass(frozen=True, slots=True)
class LogMessage:
    """One message that `tensorsleuth.log` printed."""

    time: float  # seconds since 1970
    step: int  # the training step
    message: str
    file: str | None
    line: int | None
    clock: int | None = None  # the time on the trace's clock

    def __str__(self) -> str:
        return self.message

    @property
    def words(self) -> str:
        """Return the message as one line of limited length: `loss nan (step 3, train.py:12)`."""
        step = f"step {self.step}" if self.step >= 0 else ""
        place = f"{os.path.basename(self.file)}:{self.line}" if self.file else ""
        where = ", ".join(part for part in (step, place) if part)
        text = " ".join(self.message.split())
        text = text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[: MAX_MESSAGE_LENGTH - 1]}…"
        return f"{text} ({where})" if where else text
