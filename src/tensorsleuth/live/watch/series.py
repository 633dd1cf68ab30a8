"""The series of watched tensors. They live as long as the process, because traced functions hold their numbers."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.core.series import Series
from tensorsleuth.live.watch.options import WatchRequest

MAX_SERIES = 4096  # native/src/observers/watches.h


@dataclass
class WatchedEntry:
    """A series and the watches that use it."""

    series: Series
    asked: list[WatchRequest] = field(default_factory=list)

    @property
    def every(self) -> int:
        """Return the shortest interval of all its watches; 0 if it has none left."""
        return min((wanted.every for wanted in self.asked), default=0)

    def is_due(self, step: int) -> bool:
        return self.every > 0 and step >= 0 and step % self.every == 0

    @property
    def what(self) -> MeasureFlag:
        """Return all measures that its watches need."""
        measure_flag = MeasureFlag(0)
        for wanted in self.asked:
            measure_flag |= wanted.what
        return measure_flag


class WatchRegistry:
    """Finds or creates the series of a kind and a name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], WatchedEntry] = {}

    def find(
        self, kind: str, name: str, asking: list[WatchRequest], file: str | None = None, line: int | None = None
    ) -> tuple[WatchedEntry | None, bool]:
        """Return the series with these watches added, and whether any was new; None if there are too many series."""
        with self._lock:
            entry = self._known.get((kind, name))
            if entry is None:
                if len(self._known) + 1 >= MAX_SERIES:
                    return None, False
                series = Series(len(self._known) + 1, kind, name, file, line)
                entry = self._known[(kind, name)] = WatchedEntry(series)
            before = len(entry.asked)
            entry.asked += [wanted for wanted in asking if wanted not in entry.asked]
            return entry, len(entry.asked) > before

    def drop(self, watch_request: WatchRequest) -> None:
        """Remove a watch from all series."""
        for entry in self.entries():
            if watch_request in entry.asked:
                entry.asked.remove(watch_request)

    def entries(self) -> list[WatchedEntry]:
        with self._lock:
            return list(self._known.values())
