"""The result of a check of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.report import DataReport


@dataclass(frozen=True, repr=False)
class TokenReport(DataReport):
    """The violations in token batches, worst first: true if there are none. Iterate it; print it for a table."""

    taken: tuple[str, ...] = ()  # the inferred roles: `ids input_ids`, `padding 0 (guessed: …)`

    def __bool__(self) -> bool:
        return self.ok

    @property
    def noted(self) -> tuple[Violation, ...]:
        """Return the notes: worth knowing, but possibly intended."""
        return tuple(one for one in self.violations if one.severity == "note")

    @property
    def basis(self) -> str:
        return " · ".join(self.taken)

    @property
    def breaks(self) -> str:
        return "is not fit to train on"

    def to_json(self) -> dict[str, Any]:
        return super().to_json() | {"taken": list(self.taken)}
