"""The broken expectation that ended the program; others may have been caught, or only logged."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.violation import Violation
from tensorsleuth.trace.process.process import ProcessTrace


def fatal_violation(process: ProcessTrace) -> Violation | None:
    """Return the violation that nobody caught; if the trace lacks it, the latest of the same place."""
    uncaught = process.catalogue.meta.get("uncaught")
    said = str(uncaught.get("message")) if isinstance(uncaught, dict) else ""
    latest = [one for one in reversed(process.catalogue.violations) if said]
    exact = (one for one in latest if one.message.startswith(said))  # what is long was cut
    there = (one for one in latest if said.startswith(one.name) and f"\n  {one.file}:{one.line}\n" in f"{said}\n")
    return next(exact, None) or next(there, None)


def is_same_violation(one: Violation, other: Violation | None) -> bool:
    """Return whether they are one, counted at different times."""
    return other is not None and replace(one, times=other.times) == other
