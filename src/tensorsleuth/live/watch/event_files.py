"""TensorBoard event files of watched tensors, written from the probes' rows at intervals and at the end.

The thread that begins a step writes them. A thread of our own could receive a signal meant for the program.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import QUANTILES, MeasureFlag
from tensorsleuth.live.watch.series import WatchRegistry
from tensorsleuth.recording.tensorflow.event_files import EventFile
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series import png
from tensorsleuth.trace.series.watched import WatchedRows, WatchedSeries, last_of_steps
from tensorsleuth.trace.storage.run_folder import TENSORBOARD_FOLDER

MIN_WRITE_SECONDS = 2.0  # between two writes, so a kill loses at most this much here, and nothing in the trace


class EventFiles:
    """Writes the rows of one recording to TensorBoard event files."""

    def __init__(self, folder: Any, watch_registry: WatchRegistry, logdir: Path | None) -> None:
        self._folder = folder
        self._book = watch_registry
        self._file = EventFile(logdir if logdir is not None else folder.parent / TENSORBOARD_FOLDER)
        self._next = 0  # the first row that is not written yet
        self._written = time.monotonic()

    def write_soon(self, rows: int) -> None:
        """Write the new rows, unless the latest write was a moment ago. `rows` is the number of rows so far."""
        if rows > self._next and (not self._next or time.monotonic() - self._written > MIN_WRITE_SECONDS):
            self._write()

    def move(self, folder: Path) -> None:
        """Write to that folder from now on."""
        self._write()
        self._file.close()
        self._file = EventFile(folder)

    def close(self) -> None:
        self._write()
        self._file.close()

    def _write(self) -> None:
        source, process = WatchedRows(self._folder), ProcessTrace(self._folder)
        series = {entry.series.number: entry.series for entry in self._book.entries()}
        new = np.flatnonzero(source.numbers >= self._next)
        looks = [
            last_of_steps(_rows_of_series(source, new, number), source, one.kind) for number, one in series.items()
        ]
        last = {at for look in looks for at in look.tolist()}
        for at in new.tolist():
            number = int(source.rows["series"][at])
            if number in series and at in last:
                self._look(WatchedSeries(process, series[number], source, np.array([at])), source)
            self._next = int(source.numbers[at]) + 1
        self._written = time.monotonic()
        self._file.flush()

    def _look(self, look: WatchedSeries, source: WatchedRows) -> None:
        row = look.rows[0]
        flags, step, tag = int(row["flags"]), int(row["step"]), look.tag
        when = max(step, 0), (int(row["time"]) + source.epoch) / 1e9
        alone = row["elements"] == 1 and flags & (MeasureFlag.SCALAR | MeasureFlag.VALUE)
        if alone:
            self._file.scalar(tag, *when, float(look.scalar[0]))
        if flags & MeasureFlag.NORM and not alone and row["elements"]:
            self._file.scalar(f"norm/{tag}", *when, float(look.norm[0]))
        if flags & MeasureFlag.COMPARED and flags & MeasureFlag.NORM and look.kind == "variable":
            self._file.scalar(f"update_ratio/{tag}", *when, float(look.ratio[0]))
        if flags & MeasureFlag.HISTOGRAM and not alone:
            self._file.histogram(tag, *when, _numbers(row), look.edges[0, 1:], row["bins"])
        for number, at in enumerate(QUANTILES if flags & MeasureFlag.QUANTILES else ()):
            self._file.scalar(f"quantiles/{tag}/{at:g}", *when, float(row["quantiles"][number]))
        self._pictures(look, flags, when)

    def _pictures(self, look: WatchedSeries, flags: int, when: tuple[int, float]) -> None:
        images = look.image() if flags & MeasureFlag.IMAGE else None
        for number, image in enumerate(images[:4] if images is not None and images.shape[3] <= 4 else ()):
            tag = look.tag if len(images) == 1 else f"{look.tag}/image/{number}"  # type: ignore[arg-type]
            size = int(image.shape[0]), int(image.shape[1]), int(image.shape[2])
            self._file.image(tag, *when, size, png.encode(png.as_bytes(image)))
        if flags & MeasureFlag.TEXT:
            self._file.text(look.tag, *when, look.texts())


def _numbers(row: Any) -> dict[str, float]:
    finite = int(row["elements"]) - int(row["nan"]) - int(row["neg_inf"]) - int(row["pos_inf"])
    sums = {"sum": float(row["sum"]), "sum_squares": float(row["norm"]) ** 2}
    return {"min": float(row["min"]), "max": float(row["max"]), "num": finite, **sums}


def _rows_of_series(source: WatchedRows, at: Array, number: int) -> Array:
    """Return the rows of one series."""
    return np.asarray(at[source.rows["series"][at] == number])
