"""Broken expectations in the program's own words, with the tensor to show for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.ui.web.run.nearest_tensor import latest_before
from tensorsleuth.ui.web.run.open_run import OpenRun

MOST = 200  # violations that are looked at
TOLD = 20  # places whose violations are told in words


class Broken(NamedTuple):
    """A violation, the process that it was in, and the place of the tensor to show; None where nothing was computed."""

    violation: Violation
    process: int
    place: int | None

    @property
    def rule(self) -> tuple[object, ...]:
        """Return the identity of the broken rule, to report it once."""
        one = self.violation
        return self.process, one.file, one.line, one.name, one.rule


def broken(opened: OpenRun) -> list[Broken]:
    """All of them, oldest first."""
    return opened.keep("violations", None, lambda: _broken(opened))


def rules_broken(opened: OpenRun) -> list[Broken]:
    """The first of each place and kind, with how often that came."""
    found = broken(opened)
    times = {one.rule: one.violation.times for one in sorted(found, key=lambda one: one.violation.times)}
    firsts: dict[object, Broken] = {}
    for one in found:
        firsts.setdefault(one.rule, one._replace(violation=replace(one.violation, times=times[one.rule])))
    return list(firsts.values())[:TOLD]


def violated_places(opened: OpenRun) -> Array:
    """The places of the tensors that are shown for them, oldest first."""
    places = {one.place for one in broken(opened) if one.place is not None}
    return np.array(sorted(places, key=lambda place: float(opened.table.time[place])), np.int64)


def told(opened: OpenRun, one: Broken) -> dict[str, Any]:
    """A BrokenRule of types.ts."""
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


def _broken(opened: OpenRun) -> list[Broken]:
    found = [
        Broken(violation, number, _place(opened, number, violation))
        for number, asked in enumerate(opened.table.asked)
        for violation in asked.process.catalogue.violations[:MOST]
    ]
    return sorted(found, key=lambda one: float(opened.table.time[one.place]) if one.place is not None else -1.0)


def _place(opened: OpenRun, process: int, violation: Violation) -> int | None:
    if violation.clock is None:
        return None
    return latest_before(opened, process, violation.file, violation.line, violation.clock)
