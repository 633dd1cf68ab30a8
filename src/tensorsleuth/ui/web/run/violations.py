"""Violations in the program's own words, with the tensor to show for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.ui.web.run.nearest_tensor import latest_before
from tensorsleuth.ui.web.run.open_run import OpenRun

MAX_VIOLATIONS = 200  # examined
MAX_RULES = 20  # places whose violations are described


class ShownViolation(NamedTuple):
    """A violation, its process, and the place of the tensor to show, None if nothing was computed."""

    violation: Violation
    process: int
    place: int | None

    @property
    def rule_key(self) -> tuple[object, ...]:
        """Return the identity of the broken rule, to report it once."""
        one = self.violation
        return self.process, one.file, one.line, one.name, one.rule


def shown_violations(opened: OpenRun) -> list[ShownViolation]:
    """Return all violations, oldest first."""
    return opened.cache("violations", None, lambda: _find_violations(opened))


def broken_rules(opened: OpenRun) -> list[ShownViolation]:
    """Return the first violation of each place and kind, with the number of the others."""
    found = shown_violations(opened)
    times = {one.rule_key: one.violation.times for one in sorted(found, key=lambda one: one.violation.times)}
    firsts: dict[object, ShownViolation] = {}
    for one in found:
        firsts.setdefault(one.rule_key, one._replace(violation=replace(one.violation, times=times[one.rule_key])))
    return list(firsts.values())[:MAX_RULES]


def violated_places(opened: OpenRun) -> Array:
    """Return the places of the tensors shown for them, oldest first."""
    places = {one.place for one in shown_violations(opened) if one.place is not None}
    return np.array(sorted(places, key=lambda place: float(opened.table.time[place])), np.int64)


def violation_json(opened: OpenRun, one: ShownViolation) -> dict[str, Any]:
    """Return a BrokenRule (web/src/api/types.ts)."""
    said = one.violation
    return {
        "tensor": opened.table.id(one.place) if one.place is not None else None,
        "name": said.name,
        "sentence": said.sentence if said.sentence.endswith("…") else f"{said.sentence}.",
        "change": said.change,
        "severity": said.severity,
        "times": said.times,
        "step": said.step,
        "line": said.place or None,
        "code": said.code,
        "place": opened.sources.place(said.file, said.line, said.function),
    }


def _find_violations(opened: OpenRun) -> list[ShownViolation]:
    found = [
        ShownViolation(violation, number, _place(opened, number, violation))
        for number, asked in enumerate(opened.table.process_indexes)
        for violation in asked.process.catalogue.violations[:MAX_VIOLATIONS]
    ]
    return sorted(found, key=lambda one: float(opened.table.time[one.place]) if one.place is not None else -1.0)


def _place(opened: OpenRun, process: int, violation: Violation) -> int | None:
    if violation.clock is None:
        return None
    return latest_before(opened, process, violation.file, violation.line, violation.clock)
