"""Statistics from inside the model (docs/inside.md): attention, layers, gradients, updates, inputs."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import TraceError
from tensorsleuth.core.layout.rows import INSIDE_ROW
from tensorsleuth.core.series import OF_LAYER_STATS
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.watched import WatchedRows, WatchedSeries, last_of_steps
from tensorsleuth.trace.storage.size_plan import LAYER_STATS_VALUE_BYTES

LAYER_STATS_KINDS = ("attention", "output", "gradient", "variable", "update", "input", "prediction")


class LayerStatistics:
    """The statistics of one process. If any function trains, the lists hold only functions that train."""

    def __init__(self, process: ProcessTrace | None, trains: bool | None = None) -> None:
        self.process = process
        self._trains = trains

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def evaluation(self) -> LayerStatistics:
        """Return the statistics of functions that do not train."""
        return LayerStatistics(self.process, False)

    @cached_property
    def attention(self) -> list[AttentionSeries]:
        """Return the attention layers, in the order of the graph."""
        return [AttentionSeries(series) for series in self.of("attention")]

    @property
    def layers(self) -> list[WatchedSeries]:
        """Return the outputs of each layer, in the order of the graph."""
        return self.of("output")

    @property
    def gradients(self) -> list[WatchedSeries]:
        """Return the gradient of each variable, in the order in which the program computes them."""
        return self.of("gradient")

    @property
    def updates(self) -> list[WatchedSeries]:
        """Return the change of each variable in a step."""
        return self.of("update")

    @property
    def variables(self) -> list[WatchedSeries]:
        """Return the value of each variable after a step."""
        return self.of("variable")

    @property
    def inputs(self) -> list[WatchedSeries]:
        """Return ids, masks and labels; `value(look)` has the first rows."""
        return self.of("input")

    @property
    def predictions(self) -> list[WatchedSeries]:
        """Return the gradients of softmax cross-entropies by their logits: probabilities minus labels."""
        return self.of("prediction")

    def of(self, kind: str) -> list[WatchedSeries]:
        """Return the series of one of INSIDE_KINDS."""
        return [series for series in self._shown if series.kind == kind]

    @cached_property
    def trouble(self) -> list[str]:
        """Return messages about the parts that could not be read."""
        if self.process is None or not (self.process.folder / "inside.bin").exists():
            return []
        try:
            return WatchedRows(self.process.folder, "inside", LAYER_STATS_VALUE_BYTES, INSIDE_ROW).damage
        except TraceError as error:
            return [str(error)]

    @cached_property
    def _shown(self) -> list[WatchedSeries]:
        trains = self._trains if self._trains is not None else any(series.trains for series in self._all)
        return [series for series in self._all if series.trains == trains]

    @cached_property
    def _all(self) -> list[WatchedSeries]:
        process = self.process
        if process is None:
            return []
        try:
            rows = WatchedRows(process.folder, "inside", LAYER_STATS_VALUE_BYTES, INSIDE_ROW)
        except TraceError:
            return []  # nothing was recorded, or `trouble` says why it cannot be read
        places = _by_series(rows)
        known = (one for number, one in sorted(process.catalogue.series.items()) if number in places)
        return [
            WatchedSeries(process, one, rows, last_of_steps(places[one.number], rows, one.kind))
            for one in known
            if one.owner == OF_LAYER_STATS
        ]


def _by_series(rows: WatchedRows) -> dict[int, Array]:
    """Return the positions of the rows of each series, oldest first."""
    order = np.argsort(rows.rows["series"], kind="stable")
    numbers, starts = np.unique(rows.rows["series"][order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}
