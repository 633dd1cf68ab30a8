"""The result of a check of data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import Violation

if TYPE_CHECKING:
    from rich.console import RenderableType


class DataError(SleuthError):
    """Data breaks its schema. `report` and `violations` have the details."""

    def __init__(self, message: str, report: DataReport | None = None) -> None:
        super().__init__(message)
        self.report = report
        self.violations = report.errors if report is not None else ()


@dataclass(frozen=True)
class DataReport:
    """The violations in data, worst first. Iterate it for the violations; print it for a table."""

    titles: dict[str, str]  # the source of each part: data, validation, against
    rows: dict[str, int]
    violations: tuple[Violation, ...]
    notes: tuple[str, ...] = ()  # parts that were not checked
    declared: bool = True  # whether there was a schema
    features: int = 0
    seconds: float = field(default=0.0, compare=False)

    def __iter__(self) -> Iterator[Violation]:
        return iter(self.violations)

    def __len__(self) -> int:
        return len(self.violations)

    @property
    def errors(self) -> tuple[Violation, ...]:
        return tuple(one for one in self.violations if one.severity == "error")

    @property
    def warnings(self) -> tuple[Violation, ...]:
        return tuple(one for one in self.violations if one.severity == "warning")

    @property
    def basis(self) -> str:
        """Return what the data was checked against."""
        return (
            "held to the schema"
            if self.declared
            else "no schema: checked only for what is always wrong (NaN, ∞, constants, duplicates, …)"
        )

    @property
    def breaks(self) -> str:
        """Return the consequence of bad data, in the words of the error."""
        return "breaks its schema"

    @property
    def ok(self) -> bool:
        """Return whether the data has no errors; warnings do not count."""
        return not self.errors

    def __bool__(self) -> bool:
        return True  # a report without violations is still a report: ask `ok`

    def raise_if_bad(self) -> DataReport:
        """Raise a DataError that lists the errors; without errors, return the report."""
        if not self.ok:
            more = len(self.errors) - 5
            listed = [f"  {violation}" for violation in self.errors[:5]] + ([f"  and {more} more"] if more > 0 else [])
            raise DataError("\n".join([f"{self.titles['data']} {self.breaks}:", *listed]), self)
        return self

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "verdict": "ok" if self.ok else "problem",
            "read": [
                {"part": part, "title": title, "rows": self.rows.get(part, 0)} for part, title in self.titles.items()
            ],
            "schema": self.declared,
            "violations": [violation.to_json() for violation in self.violations],
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    def __rich__(self) -> RenderableType:
        from tensorsleuth.data.report_table import data_table

        return data_table(self)

    def __str__(self) -> str:
        from tensorsleuth.data.report_table import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from tensorsleuth.data.report_table import as_html

        return as_html(self)
