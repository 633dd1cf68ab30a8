"""What was seen inside of the model of an open run, by the ids of its series; where nothing was, why."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorsleuth.model.modes import Mode
from tensorsleuth.page import ids
from tensorsleuth.page.errors import NoSuchThing
from tensorsleuth.page.opened import OpenRun
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.runs import mode_of
from tensorsleuth.trace.watched import WatchedSeries


class Seen(NamedTuple):
    """Of the first process in which anything was seen."""

    process: int
    inside: Inside

    def id(self, series: WatchedSeries) -> str:
        return ids.name_of(self.process, series.number)


def seen(opened: OpenRun) -> Seen:
    return opened.keep("inside", None, lambda: _seen(opened))


def _seen(opened: OpenRun) -> Seen:
    found = [Seen(number, Inside(process)) for number, process in enumerate(opened.trace.processes)]
    return next((one for one in found if one.inside), Seen(0, Inside(None)))


def series_of(opened: OpenRun, id: str, *kinds: str) -> WatchedSeries:
    """The series that a request names, of one of those kinds."""
    process, number = ids.parse(id, "what was seen inside of the model")
    found = seen(opened)
    series = [one for kind in kinds for one in found.inside.of(kind) if one.number == number]
    if process != found.process or not series:
        raise NoSuchThing("Nothing of that id was seen inside of the model.", "Take one from the list.")
    return series[0]


def why_nothing(opened: OpenRun) -> str:
    """Why nothing was seen, in a sentence or two."""
    mode = mode_of(opened.trace)
    if mode is not None and (mode < Mode.CURT_HEALTH or mode == Mode.FLIGHT):
        return f"The mode {mode.name} looks at no values inside of functions. CURT_HEALTH to FULL_TENSOR do."
    if any(_setting(one, "inside_every") == 0 for one in opened.trace.processes):
        return "The run was recorded with --inside-every 0, which looks at nothing."
    if any(one.catalogue.meta.get("probe", "host") != "host" for one in opened.trace.processes):
        return "The run was recorded without the native library, which does the looking."
    if not opened.trace.steps:
        return "No training step has been recorded yet."
    return "No function that trains was looked at: docs/inside.md says what is seen and what is not."


def _setting(process: ProcessTrace, name: str) -> Any:
    settings = process.catalogue.meta.get("settings")
    return settings.get(name) if isinstance(settings, dict) else None
