"""The layer statistics of an open run, by the ids of its series."""

from __future__ import annotations

from typing import NamedTuple

from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.web.run import ids
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun


class RunLayerStats(NamedTuple):
    """The statistics of the first process that has any."""

    process: int
    stats: LayerStatistics

    def id(self, series: WatchedSeries) -> str:
        return ids.make_id(self.process, series.number)


def layer_stats_of(opened: OpenRun) -> RunLayerStats:
    return opened.cache("inside", None, lambda: _first_with_stats(opened))


def _first_with_stats(opened: OpenRun) -> RunLayerStats:
    found = [RunLayerStats(number, LayerStatistics(process)) for number, process in enumerate(opened.trace.processes)]
    return next((one for one in found if one.stats), RunLayerStats(0, LayerStatistics(None)))


def series_of(opened: OpenRun, id: str, *kinds: str) -> WatchedSeries:
    """Return the series that a request names, if it has one of these kinds."""
    process, number = ids.parse_id(id, "a layer statistic")
    found = layer_stats_of(opened)
    series = [one for kind in kinds for one in found.stats.of(kind) if one.number == number]
    if process != found.process or not series:
        raise NotFound("There is no layer statistic with that id.", "Take one from the list.")
    return series[0]
