"""The numbers of a run, for people and for other programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorsleuth.trace.run_summary import RunSummary


def summarize(run: Path) -> RunSummary:
    """Count the content of a run."""
    from tensorsleuth.trace import run_summary  # NumPy is slow to import: not for --help

    return run_summary.summarize(run)


def as_json(summary: RunSummary) -> dict[str, Any]:
    """Return the fields of a summary as JSON values."""
    return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(summary).items()}
