"""The watches of this process: selects their tensors, and samples them in the steps that are due."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorsleuth.core.dtypes import DTYPES, DTypeKind
from tensorsleuth.live.series_observer import SeriesObserver, measure_eager
from tensorsleuth.live.watch.event_files import EventFiles
from tensorsleuth.live.watch.options import WatchRequest
from tensorsleuth.live.watch.selection import WatchSelection
from tensorsleuth.live.watch.series import MAX_SERIES, WatchedEntry, WatchRegistry
from tensorsleuth.native import loader
from tensorsleuth.recording.call_sites import caller_line
from tensorsleuth.recording.functions.probes import Selection
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.selector import TensorRole
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.trace.storage.size_plan import WATCHED_CHUNK_ROWS, WATCHED_CHUNKS, WATCHED_VALUE_BYTES

NOT_FOR_GUARD = 1 << 31  # native/src/observers/watches.h
_FUNCTION_NAME = re.compile(r"__inference_(.+)_\d+")  # TensorFlow's name of a function, around the program's
WATCHED_FILES = ("watched.bin", "watched_value_rows.bin", "watched_values.bin")


class Watches(SeriesObserver):
    """Observes the active recording."""

    def __init__(self) -> None:
        super().__init__()
        self._all: list[WatchRequest] = []
        self._book = WatchRegistry()
        self._announced: set[int] = set()  # series that are in the catalogue
        self._events: EventFiles | None = None
        self.logdir: Path | None = None  # the folder of event files, if it is not in the run

    # ---- adding and removing

    def add(self, watch_request: WatchRequest) -> None:
        with self._lock:
            self._all.append(watch_request)
            self._again()

    def remove(self, watch_request: WatchRequest) -> bool:
        """Remove a watch. Return True if it was the last."""
        with self._lock:
            harmless(self._end_step, self._trained_step())
            if watch_request in self._all:
                self._all.remove(watch_request)
            self._book.drop(watch_request)
            for entry in self._book.entries():
                self._plan(entry)
            return not any(entry.asked for entry in self._book.entries()) and not self._all

    def _again(self) -> None:
        """Examine every function and place again, since the watches have changed."""
        if self.recorder is not None:
            self._met.clear()
            self.recorder.select()

    # ---- recordings

    def _can_watch(self, recorder: Recorder) -> bool:
        if recorder.sink.native is None:
            complain("watch needs the native library, which is missing: nothing is watched. See sleuth doctor.")
        return recorder.sink.native is not None and isinstance(recorder.folder, Path)

    def _begin_recording(self, recorder: Recorder, native: loader.Native) -> None:
        self._announced.clear()
        self._open(recorder.folder, native)
        for entry in self._book.entries():
            self._announce(entry)
        self._events = EventFiles(recorder.folder, self._book, self.logdir)

    def _open(self, folder: Any, native: loader.Native) -> None:
        paths = (str(folder / name).encode() for name in WATCHED_FILES)
        error = native.watch_open(*paths, WATCHED_CHUNK_ROWS, WATCHED_CHUNKS, WATCHED_VALUE_BYTES)
        if error:
            raise OSError(error, "cannot create the files for watched values", str(folder))
        native.watch_forget()
        native.watch_activate(True)

    def _end_recording(self, native: loader.Native) -> None:
        native.watch_activate(False)
        native.watch_forget()
        if self._events is not None:
            harmless(self._events.close)

    def selection(self, base: Selection) -> Selection:
        return WatchSelection(self.recorder.settings, base, self) if self.recorder is not None else base

    def move(self, logdir: Path) -> None:
        """Write event files to that folder from now on."""
        self.logdir = logdir
        if self._events is not None:
            self._events.move(logdir)

    def abandon(self) -> None:
        """Drop everything in a forked child: the files belong to the parent."""
        self._lock = threading.RLock()
        self.recorder = self._native = self._variables = self._events = None

    # ---- series

    def series(self, kind: str, name: str, asking: list[WatchRequest], *place: Any) -> WatchedEntry | None:
        """Return the series of a watched tensor, after adding it to the catalogue and the native library."""
        entry, changed = self._book.find(kind, name, asking, *place)
        if entry is None:
            complain(f"more than {MAX_SERIES - 1:,} tensors match watch: the rest is not watched. Watch fewer names.")
        elif changed or entry.series.number not in self._announced:
            self._announce(entry)
        return entry

    def _announce(self, watched_entry: WatchedEntry) -> None:
        self._plan(watched_entry)
        series, recorder = watched_entry.series, self.recorder
        if recorder is not None and series.number not in self._announced:
            self._announced.add(series.number)
            fields = {"id": series.number, "kind": series.kind, "name": series.name}
            recorder.catalog.series(fields | {"file": series.file, "line": series.line})

    def _plan(self, watched_entry: WatchedEntry) -> None:
        if self._native is not None:
            self._native.watch_set(watched_entry.series.number, watched_entry.every, int(watched_entry.what))

    # ---- tensors of functions, and of eager ops

    def placed(self, tensor: int, source: str, tensor_role: TensorRole, dtype: int, own: bool) -> bool:
        """Note the id of a function's tensor, and return whether it is watched."""
        asking = [wanted for wanted in list(self._all) if wanted.wants_tensor(tensor_role, dtype)]
        if not asking:
            return False
        entry = self.series(*_series_of_tensor(source, tensor_role, asking), asking)
        if entry is not None and self._native is not None:
            self._native.watch_on(tensor, entry.series.number | (NOT_FOR_GUARD if own else 0))
        return entry is not None

    def wants_eager(self, op: str, dtype: int) -> bool:
        known = DTYPES.get(dtype)
        number = known is not None and known.kind is not DTypeKind.OTHER
        return number and any(wanted.wants_tensor(TensorRole(op, op), dtype) for wanted in list(self._all))

    def placed_eager(self, op: str, first: int, outputs: int) -> None:
        asking = [
            wanted for wanted in list(self._all) if any(one.wants(TensorRole(op, op)) for one in wanted.selectors)
        ]
        for output in range(outputs if asking else 0):
            entry = self.series("tensor", op if not output else f"{op}:{output}", asking, *caller_line())
            if entry is not None and self._native is not None:
                self._native.watch_on(first + output, entry.series.number)

    def refused(self, function: str, why: str) -> None:
        if any(wanted.is_about_functions for wanted in list(self._all)):
            name = _FUNCTION_NAME.sub(r"\1", function)
            complain(f"watch cannot see inside {name} ({why}); its variables are still watched after each step.")

    # ---- variables, gradients

    def _add_variable(self, name: str, handle: Any, trainable: bool) -> None:
        known, recorder, dtype = self._variables, self.recorder, tf_variables.variable_dtype(handle)
        if known is None or recorder is None or dtype is None:
            return
        of_value = self._requested_series(
            "variable", name, [one for one in self._all if one.wants_variable(name, trainable)]
        )
        of_update = self._requested_series("update", name, [one for one in self._all if one.wants_update(name)])
        if (of_value or of_update) and DTYPES[dtype].kind is not DTypeKind.OTHER:
            known.add(handle, dtype, of_value, of_update, recorder.steps.number)

    def _requested_series(self, kind: str, name: str, asking: list[WatchRequest]) -> WatchedEntry | None:
        return self.series(kind, name, asking) if asking else None

    def _saw_gradient(self, name: str, gradient: Any) -> None:
        entry = self._requested_series("gradient", name, [one for one in list(self._all) if one.wants_gradient(name)])
        if entry is not None:
            self.measure(entry, gradient)

    def measure(self, watched_entry: WatchedEntry, tensor: Any) -> None:
        """Sample an eager tensor of numbers, if its series is due."""
        if self._native is not None and self._native.watch_due(watched_entry.series.number):
            measure_eager(self._native, self._native.watch_saw, watched_entry.series.number, tensor)

    def record_texts(self, watched_entry: WatchedEntry, texts: list[bytes], shape: Sequence[int]) -> None:
        """Record an eager tensor of strings."""
        if self._native is not None and self._native.watch_due(watched_entry.series.number):
            data = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
            view = loader.TensorView(None, max(1, len(texts)), 0, 7, len(shape))
            view.dims[: min(len(shape), 8)] = shape[:8]
            self._native.watch_text(watched_entry.series.number, data, len(data), len(texts), view)

    # ---- steps

    def _begin_step(self, step: int) -> None:
        if self._variables is not None:
            self._variables.begin_step(step)

    def _end_step(self, step: int) -> None:
        if self._variables is not None and step >= 0:
            self._variables.end_step(step)
        if self._events is not None and self._native is not None:
            self._events.write_soon(int(self._native.watch_rows()))


def _series_of_tensor(source: str, tensor_role: TensorRole, asking: list[WatchRequest]) -> tuple[str, str]:
    """Return the kind and the name of the series that a function's tensor belongs to."""
    if tensor_role.is_gradient and any(one.wants_gradient_tensor(tensor_role) for one in asking):
        whose = tensor_role.gradient_of[0]
        return "gradient", tensor_role.name if tensor_role.name in tensor_role.gradient_of else whose
    number = source.rpartition(":")[2]
    return "tensor", tensor_role.name if number in ("0", source) else f"{tensor_role.name}:{number}"
