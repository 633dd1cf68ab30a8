"""A series: one watched thing over the steps of a program. And what a program logged."""

from __future__ import annotations

import os
from dataclasses import dataclass

MAX_MESSAGE_LENGTH = 200  # letters of a message beside a finding
SERIES_KINDS = ("tensor", "variable", "gradient", "update", "point")
OF_LAYER_STATS = "inside"


@dataclass(frozen=True, slots=True)
class Series:
    """A watched thing that rows of watched.bin belong to."""

    number: int
    kind: str  # one of KINDS
    name: str  # of the op, the variable, or what the program calls it
    file: str | None = None
    line: int | None = None
    owner: str | None = None  # who looks: "inside" where nobody asked for it; see docs/inside.md
    trains: bool = True  # whether what computes it trains
    op: str | None = None  # of what is inside a function: the op's name
    by: str | None = None  # "replay" where it was seen when a call was run again
    activation: str | None = None  # of what leaves a layer: its last op, where that is one of model.activations

    @property
    def tag(self) -> str:
        """Return the name to use where all kinds stand side by side."""
        return f"{self.kind}/{self.name}" if self.kind in ("gradient", "update") else self.name


@dataclass(frozen=True, slots=True)
class LogMessage:
    """One message that `tensorsleuth.log` printed."""

    time: float  # seconds since 1970
    step: int  # the training step
    message: str
    file: str | None
    line: int | None
    clock: int | None = None  # when, by the trace's clock

    def __str__(self) -> str:
        return self.message

    @property
    def words(self) -> str:
        """`loss nan (step 3, train.py:12)`, on one line that is not too long."""
        step = f"step {self.step}" if self.step >= 0 else ""
        place = f"{os.path.basename(self.file)}:{self.line}" if self.file else ""
        where = ", ".join(part for part in (step, place) if part)
        text = " ".join(self.message.split())
        text = text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[: MAX_MESSAGE_LENGTH - 1]}…"
        return f"{text} ({where})" if where else text
