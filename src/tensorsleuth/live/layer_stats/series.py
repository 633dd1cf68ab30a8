"""The series of layer statistics: their numbers, and the steps to sample."""

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
    HELD_OUT = 4  # an input of a function that does not train
    FIRST_ROWS = 5


@dataclass(frozen=True)
class SampleSchedule:
    """Samples every n-th step and the last one, and the earliest steps more densely.

    `planned` returns the last step of the running `fit` and its number of steps, if known. Programs may call `fit` many
    times for a few steps each. The last step of such a short `fit` is not sampled.
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
    """A series and its schedule."""

    series: Series
    schedule: SampleSchedule

    def is_due(self, step: int) -> bool:
        return self.schedule.is_due(step)


class LayerSeriesRegistry:
    """Finds or creates the series of a kind and a name. It creates the files with the first series."""

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
        """Return the series, or None if there are too many."""
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
        """Return the series of a layer's output."""
        look = LayerMeasure.UNITS if activation in RELUS else LayerMeasure.NORM
        return self.find("output", layer, look, activation=activation, **about)

    def _open(self) -> None:
        paths = (str(self._folder / name).encode() for name in LAYER_STATS_FILES)
        error = self._native.inside_open(*paths, LAYER_STATS_CHUNK_ROWS, LAYER_STATS_CHUNKS, LAYER_STATS_VALUE_BYTES)
        if error:
            raise OSError(error, "cannot create the files for layer statistics", str(self._folder))

    def _open_rows(self) -> None:
        """Open the file for row hashes of integer inputs of models."""
        path = str(self._folder / ROW_HASHES_FILE).encode()
        error = self._native.inside_open_rows(path, INPUT_ROW_CHUNK_ROWS, INPUT_ROW_CHUNKS)
        if error:
            raise OSError(error, "cannot create the file for the token ids of the model's inputs", str(self._folder))


def _fields(series: Series) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": series.number, "kind": series.kind, "name": series.name, "of": series.owner}
    fields |= {"file": series.file, "line": series.line, "trains": series.trains}
    more = {"op": series.op, "by": series.by, "activation": series.activation}
    return fields | {name: value for name, value in more.items() if value is not None}
