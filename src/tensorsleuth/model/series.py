"""A series: one watched thing over the steps of a program. And what a program logged."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("tensor", "variable", "gradient", "update", "point")


@dataclass(frozen=True, slots=True)
class Series:
    """What rows of watched.bin belong to."""

    number: int
    kind: str  # one of KINDS
    name: str  # of the op, the variable, or what the program calls it
    file: str | None = None
    line: int | None = None

    @property
    def tag(self) -> str:
        """How it is called where all kinds stand side by side."""
        return f"{self.kind}/{self.name}" if self.kind in ("gradient", "update") else self.name


@dataclass(frozen=True, slots=True)
class LogMessage:
    """What `tensorsleuth.log` printed once."""

    time: float  # seconds since 1970
    step: int  # the training step
    message: str
    file: str | None
    line: int | None

    def __str__(self) -> str:
        return self.message
