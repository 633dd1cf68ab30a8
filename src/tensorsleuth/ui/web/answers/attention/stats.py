"""The layer statistics of an open run, by the ids of its series."""

from __future__ import annotations

from typing import NamedTuple

from tensorsleuth.trace.series.layer_stats import Inside
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.errors import NoSuchThing
from tensorsleuth.ui.web.run.open_run import OpenRun


class Seen(NamedTuple):
    """The statistics of the first process that has any."""

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
