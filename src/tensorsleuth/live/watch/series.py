"""Numbers for what is watched. They stay for the life of the process: functions that were traced hold them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from tensorsleuth.core.layout.rows import What
from tensorsleuth.core.series import Series
from tensorsleuth.live.watch.options import Wanted

MOST = 4096  # native/src/observers/watches.h


@dataclass
class Entry:
    """A series, and who asks for it."""

    series: Series
    asked: list[Wanted] = field(default_factory=list)

    @property
    def every(self) -> int:
        """As often as the most frequent of those who ask; 0 where nobody does any more."""
        return min((wanted.every for wanted in self.asked), default=0)

    def is_due(self, step: int) -> bool:
        return self.every > 0 and step >= 0 and step % self.every == 0

    @property
    def what(self) -> What:
        """All that any of them asks for."""
        what = What(0)
        for wanted in self.asked:
            what |= wanted.what
        return what


class Book:
    """Finds, or makes, the series of a kind and a name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Entry] = {}

    def find(
        self, kind: str, name: str, asking: list[Wanted], file: str | None = None, line: int | None = None
    ) -> tuple[Entry | None, bool]:
        """The series, asked for by these as well, and whether that changed it; None where there are too many."""
        with self._lock:
            entry = self._known.get((kind, name))
            if entry is None:
                if len(self._known) + 1 >= MOST:
                    return None, False
                series = Series(len(self._known) + 1, kind, name, file, line)
                entry = self._known[(kind, name)] = Entry(series)
            before = len(entry.asked)
            entry.asked += [wanted for wanted in asking if wanted not in entry.asked]
            return entry, len(entry.asked) > before

    def drop(self, wanted: Wanted) -> None:
        """Somebody does not ask any more."""
        for entry in self.entries():
            if wanted in entry.asked:
                entry.asked.remove(wanted)

    def entries(self) -> list[Entry]:
        with self._lock:
            return list(self._known.values())
