"""A run that is open for questions, and may still be growing."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.run.growth import signature
from tensorsleuth.ui.web.run.sources import SourceFiles
from tensorsleuth.ui.web.run.tensor_table import TensorTable, release_pages
from tensorsleuth.ui.web.run.variables import VariableLookup

T = TypeVar("T")
SECONDS_BETWEEN_READS = 2.0  # of a run that grows
MAX_READING_SHARE = 10  # reading it again takes at most one part in this many of the time


class OpenRun:
    """Keeps a trace open, and data that several questions need. Hold `lock`: one question at a time."""

    def __init__(self, path: Path, vocabulary: Vocabulary | None = None) -> None:
        self.path = path
        self.vocabulary = vocabulary  # what ids stand for, if the user passed it
        self.name = path.name
        self.lock = threading.Lock()
        self.cursor = 0  # increases whenever the run has grown
        self._read()

    def _read(self) -> None:
        began = time.monotonic()
        self._seen = signature(self.path)
        self.trace = Trace(self.path)
        for made in ("table", "sources", "variables"):
            vars(self).pop(made, None)
        self._cache: dict[str, tuple[object, Any]] = {}
        self.cursor += 1
        self._read_at = time.monotonic()
        self._cost = self._read_at - began

    @cached_property
    def table(self) -> TensorTable:
        began = time.monotonic()
        tensor_table = TensorTable(self.trace)
        self._cost += time.monotonic() - began
        return tensor_table

    @cached_property
    def sources(self) -> SourceFiles:
        return SourceFiles(self.trace)

    @cached_property
    def variables(self) -> VariableLookup:
        return VariableLookup(self.trace)

    def cache(self, what: str, key: object, make: Callable[[], T]) -> T:
        """Return the last value under this name, if it was for the same key; else compute it."""
        kept = self._cache.get(what)
        if kept is None or kept[0] != key:
            began = time.monotonic()
            kept = self._cache[what] = key, make()
            self._cost += time.monotonic() - began
        return cast(T, kept[1])

    def open_other(self, path: Path) -> OpenRun:
        """Return another run to compare with this one. The last one stays open."""
        if self._other is None or self._other.path != path:
            self._other = OpenRun(path)
        self._other.refresh()
        return self._other

    _other: OpenRun | None = None

    # ---- while the program runs

    @property
    def is_live(self) -> bool:
        """Return whether the program may still write."""
        return run_folder.is_alive(self.path)

    def refresh(self) -> bool:
        """Read the run again if it has grown and was not just read; return whether it was read."""
        if (
            time.monotonic() - self._read_at < max(SECONDS_BETWEEN_READS, MAX_READING_SHARE * self._cost)
            or signature(self.path) == self._seen
        ):
            return False
        self._read()
        return True

    def release_memory(self) -> None:
        """Free the memory that a question mapped: it is cheap to map again, and counts as this process's memory."""
        for process in self.trace.processes:
            release_pages(process.events)
            release_pages(process.calls)
        if self._other is not None:
            self._other.release_memory()

    # ---- the verdict

    @property
    def diagnosis(self) -> Diagnosis:
        """The verdict, made again only after a new bad value, a hang, or the end of the run."""
        hangs = (self.path / run_folder.HANG_FILE).exists()
        key = self._bad_count, self.trace.meta.get("ended") is None, hangs, tuple(self.trace.trouble)
        if self._diagnosed is None or self._diagnosed[0] != key:
            self._diagnosed = key, diagnose(self.trace)
            gc.collect()  # sampled calls refer to each other
        return self._diagnosed[1]

    @property
    def _bad_count(self) -> int:
        """The number of bad rows, without the table: the verdict does not wait for it."""
        return self.cache(
            "bad", None, lambda: sum(_bad_count(one.events) for one in self.trace.processes if one.has_bad)
        )

    _diagnosed: tuple[object, Diagnosis] | None = None


def _bad_count(events: Array) -> int:
    return int(np.count_nonzero((events["flags"] & EventFlag.BAD != 0) & (events["kind"] != 0)))
