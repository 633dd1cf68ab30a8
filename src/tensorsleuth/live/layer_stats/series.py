"""Numbers for what is seen inside of the model, and the steps in which that is looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tensorsleuth.core.ops.activations import RELUS
from tensorsleuth.core.series import OF_LAYER_STATS, Series
from tensorsleuth.native import loader
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.size_plan import (
    INPUT_ROW_CHUNK_ROWS,
    INPUT_ROW_CHUNKS,
    LAYER_STATS_CHUNK_ROWS,
    LAYER_STATS_CHUNKS,
    LAYER_STATS_VALUE_BYTES,
)

FIRST_SERIES, MAX_SERIES = 1 << 16, 16384  # native/src/observers/layer_stats.h
LAYER_STATS_FILES = ("inside.bin", "inside_value_rows.bin", "inside_values.bin")
ROW_HASHES_FILE = "inside_row_hashes.bin"


class LayerMeasure(IntEnum):
    """The statistics to compute; see native/src/observers/layer_stats.h."""

    NORM = 0
    UNITS = 1
    ATTENTION = 2
    INPUT = 3
    HELD_OUT = 4  # an input of what does not train


@dataclass(frozen=True)
class SampleSchedule:
    """Every so many steps; in the first ones, of which the most is to be learnt, ever more seldom; and in the last.

    `planned`: the last step of a fit, where that is known, and how many steps it takes. Programs call `fit` for a few
    steps again and again: those are not looked at each time.
    """

    every: int
    planned: Callable[[], tuple[int, int] | None] = lambda: None

    def is_due(self, step: int) -> bool:
        early = 0 <= step < self.every and step & (step - 1) == 0
        return early or (step >= 0 and step % self.every == 0) or self._is_last(step)

    def _is_last(self, step: int) -> bool:
        planned = self.planned()
        return planned is not None and planned[0] == step and 2 * planned[1] >= self.every


@dataclass(frozen=True)
class LayerSeries:
    """A series, and when it is looked at."""

    series: Series
    schedule: SampleSchedule

    def is_due(self, step: int) -> bool:
        return self.schedule.is_due(step)


class LayerSeriesRegistry:
    """Finds, or makes, the series of a kind and a name. The files come with the first."""

    def __init__(
        self, native: loader.Native, catalog: CatalogWriter, folder: Any, sample_schedule: SampleSchedule
    ) -> None:
        self._native = native
        self._catalog = catalog
        self._folder = folder
        self._schedule = sample_schedule
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, bool, str | None], LayerSeries] = {}

    def find(
        self,
        kind: str,
        name: str,
        layer_measure: LayerMeasure = LayerMeasure.NORM,
        *,
        trains: bool = True,
        place: tuple[str | None, int | None] = (None, None),
        op: str | None = None,
        by: str | None = None,
        axis: int = 0,
        activation: str | None = None,
    ) -> LayerSeries | None:
        """None where there are too many."""
        with self._lock:
            entry = self._known.get((kind, name, trains, by))
            if entry is None and len(self._known) < MAX_SERIES:
                if not self._known:
                    self._open()
                if layer_measure is LayerMeasure.INPUT:
                    self._open_rows()
                series = Series(
                    FIRST_SERIES + len(self._known), kind, name, *place, OF_LAYER_STATS, trains, op, by, activation
                )
                entry = self._known[(kind, name, trains, by)] = LayerSeries(series, self._schedule)
                self._native.inside_set(series.number, int(layer_measure), axis)
                self._catalog.series(_fields(series))
            return entry

    def output(self, layer: str, *, activation: str | None, **about: Any) -> LayerSeries | None:
        """The series of what leaves a layer."""
        look = LayerMeasure.UNITS if activation in RELUS else LayerMeasure.NORM
        return self.find("output", layer, look, activation=activation, **about)

    def _open(self) -> None:
        paths = (str(self._folder / name).encode() for name in LAYER_STATS_FILES)
        error = self._native.inside_open(*paths, LAYER_STATS_CHUNK_ROWS, LAYER_STATS_CHUNKS, LAYER_STATS_VALUE_BYTES)
        if error:
            raise OSError(error, "cannot create the files for layer statistics", str(self._folder))

    def _open_rows(self) -> None:
        """Open the file of row hashes of the models' inputs, if these are integers."""
        path = str(self._folder / ROW_HASHES_FILE).encode()
        error = self._native.inside_open_rows(path, INPUT_ROW_CHUNK_ROWS, INPUT_ROW_CHUNKS)
        if error:
            raise OSError(error, "cannot create the file for the token ids of the model's inputs", str(self._folder))


def _fields(series: Series) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": series.number, "kind": series.kind, "name": series.name, "of": series.owner}
    fields |= {"file": series.file, "line": series.line, "trains": series.trains}
    more = {"op": series.op, "by": series.by, "activation": series.activation}
    return fields | {name: value for name, value in more.items() if value is not None}
