"""A run that is open for questions; it may still be growing."""

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
SECONDS_BETWEEN_READS = 2.0  # seconds between two readings of a run that grows
MAX_READING_SHARE = 10  # of the time, at most one part in so many goes into reading it again


class OpenRun:
    """Keeps a trace open, and what questions have in common. Ask one question at a time: hold `lock`."""

    def __init__(self, path: Path, vocabulary: Vocabulary | None = None) -> None:
        self.path = path
        self.vocabulary = vocabulary  # what ids stand for, where the reader said so
        self.name = path.name
        self.lock = threading.Lock()
        self.cursor = 0  # goes up whenever the run was found to have grown
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
        """Another run, to be compared with this one; the last is kept open."""
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
        """Read the run again where it has grown, and that was not just now; whether it was."""
        if (
            time.monotonic() - self._read_at < max(SECONDS_BETWEEN_READS, MAX_READING_SHARE * self._cost)
            or signature(self.path) == self._seen
        ):
            return False
        self._read()
        return True

    def release_memory(self) -> None:
        """Give back what a question mapped into memory: it is cheap to get again, and counts as ours."""
        for process in self.trace.processes:
            release_pages(process.events)
            release_pages(process.calls)
        if self._other is not None:
            self._other.release_memory()

    # ---- the verdict

    @property
    def diagnosis(self) -> Diagnosis:
        """Found anew only where something bad was added, or the run came to its end, or hangs."""
        hangs = (self.path / run_folder.HANG_FILE).exists()
        key = self._bad_count, self.trace.meta.get("ended") is None, hangs, tuple(self.trace.trouble)
        if self._diagnosed is None or self._diagnosed[0] != key:
            self._diagnosed = key, diagnose(self.trace)
            gc.collect()  # calls that were sampled refer to each other
        return self._diagnosed[1]

    @property
    def _bad_count(self) -> int:
        """Asked of the rows themselves: the verdict does not wait for the table."""
        return self.cache(
            "bad", None, lambda: sum(_bad_count(one.events) for one in self.trace.processes if one.has_bad)
        )

    _diagnosed: tuple[object, Diagnosis] | None = None


def _bad_count(events: Array) -> int:
    return int(np.count_nonzero((events["flags"] & EventFlag.BAD != 0) & (events["kind"] != 0)))
